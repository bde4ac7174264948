//! The search of one target: nodes move to the best of eight candidate positions around them while that improves the
//! criterion.
//!
//! An *iteration* tries to move every node once, by a distance d. When none moves, every edge longer than
//! [`node_spacing`](super::Params::node_spacing) gets a node in its middle and d is halved, down to 1. Without a node
//! cost the target has converged when no node moves at d = 1 and none can be added: no move of one node by one pixel
//! improves the criterion.
//!
//! *Sequential* (Algorithm 2 of Perrot et al. 2011): node after node, each at once to its best candidate. *Parallel*
//! (Algorithm 3 there): the best candidates of all even nodes are found for one and the same polygon, then those of all
//! odd ones (with an odd number of nodes the last one, whose next neighbour is even too, comes by itself). Moves that
//! each improve the criterion alone are made together only if together they improve it and cross nothing; else the
//! better half of them is tried, down to the best one alone, which is known to improve it.
//!
//! With a node cost, at the end nodes are removed where that improves the criterion with the cost of nodes, in the same
//! two schedules, and the others move at d = 1, until neither improves it. Then none is added any more.

use super::criterion::Noise;
use super::polygon::{Bounds, Node, edge_crosses, folds, intersect, twice_area};
use super::sums::{Level, RegionSum, RowPrefixSums};
use super::{Schedule, Status};
use crate::error::Result;
use crate::progress::Ticker;

/// The directions from a node to its eight candidate positions. In a tie the first one wins.
pub(super) const CANDIDATES: [(i32, i32); 8] = [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)];

/// The parameters of the search of one target, with each automatic one computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) noise: Noise,
    pub(super) schedule: Schedule,
    /// The distance d of the first iteration.
    pub(super) largest_step: i32,
    /// The square of the length above which an edge gets a node.
    pub(super) spacing_squared: i64,
    /// The most nodes that a target is given.
    pub(super) max_nodes: usize,
    pub(super) max_iterations: u64,
    /// The cost of a node, in units of the criterion.
    pub(super) node_cost: f64,
}

/// The phases of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nodes move and are added.
    Evolve,
    /// Nodes are removed, and move by one pixel.
    Prune,
}

/// One target.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) nodes: Vec<Node>,
    /// The sum of the edge from node i to the next, as [`RowPrefixSums::edge`] defines it; all add up to `inside`.
    edges: Vec<RegionSum>,
    /// The change of the sum if a node moved to each of its candidates: known from the first attempt until the node or
    /// a neighbour moves. Most nodes do not move in most iterations.
    candidate_sums: Vec<Option<[RegionSum; CANDIDATES.len()]>>,
    /// The bounds of the nodes: the window, or the image.
    pub(super) bounds: Bounds,
    /// The sum over all pixels within the bounds: target and background.
    pub(super) whole: RegionSum,
    /// The sum over the pixels inside the polygon.
    pub(super) inside: RegionSum,
    /// The criterion, without the cost of the nodes.
    pub(super) cost: f64,
    /// The distance d of the candidate positions, along each axis, in pixels.
    pub(super) distance: i32,
    phase: Phase,
    /// The number of iterations done.
    pub(super) iterations: u64,
    pub(super) status: Status,
}

/// A change of one node: a move, or its removal.
#[derive(Clone, Copy, Debug)]
struct Change {
    node: usize,
    /// The new position; `None` for a removal.
    to: Option<Node>,
    /// The sum that the change adds to the one inside.
    difference: RegionSum,
    /// The criterion after the change alone.
    cost: f64,
}

impl Target {
    /// Returns a target at its start, with its sums. `nodes` come from [`normalise`](super::polygon::normalise).
    pub(super) fn measured<T: Level>(sums: &RowPrefixSums<T>, plan: &Plan, nodes: Vec<Node>, bounds: Bounds) -> Self {
        let mut target = Self::unmeasured(nodes, bounds, plan.largest_step);
        target.whole = sums.rectangle(bounds.x0, bounds.y0, bounds.x1, bounds.y1);
        let edges = target.ends().map(|(a, b)| sums.edge(a, b)).collect();
        target.set_edges(plan, edges);
        if target.inside.pixels == 0 {
            target.status = Status::Vanished;
        }
        target
    }

    /// Returns a target without its sums.
    pub(super) fn unmeasured(nodes: Vec<Node>, bounds: Bounds, distance: i32) -> Self {
        Self {
            nodes,
            edges: Vec::new(),
            candidate_sums: Vec::new(),
            bounds,
            whole: RegionSum::default(),
            inside: RegionSum::default(),
            cost: 0.0,
            distance,
            phase: Phase::Evolve,
            iterations: 0,
            status: Status::Running,
        }
    }

    /// Returns a target whose initial polygon lies outside the image: there is nothing to search.
    pub(super) fn start_outside(nodes: Vec<Node>, bounds: Bounds) -> Self {
        Self { status: Status::StartOutside, ..Self::unmeasured(nodes, bounds, 1) }
    }

    /// Returns a node, counted on from the first one after the last.
    fn node(&self, index: usize) -> Node {
        self.nodes[index % self.nodes.len()]
    }

    /// Returns the ends of each edge.
    pub(super) fn ends(&self) -> impl Iterator<Item = (Node, Node)> {
        (0..self.nodes.len()).map(|i| (self.nodes[i], self.node(i + 1)))
    }

    /// Returns the sums of all edges, computed anew.
    fn edge_sums<T: Level>(&self, sums: &RowPrefixSums<T>, ticker: &Ticker) -> Result<Vec<RegionSum>> {
        self.ends().map(|(a, b)| Ok(sums.try_edges([(a, b)], ticker)?[0])).collect()
    }

    /// Takes the sums of the edges of a new polygon, and computes the target's sum and criterion from them.
    fn set_edges(&mut self, plan: &Plan, edges: Vec<RegionSum>) {
        self.edges = edges;
        self.forget_candidates();
        self.inside = self.edges.iter().copied().sum();
        self.cost = self.cost_of(plan, self.inside);
    }

    /// Forgets the sums of all candidates.
    fn forget_candidates(&mut self) {
        self.candidate_sums.clear();
        self.candidate_sums.resize(self.nodes.len(), None);
    }

    /// Returns the criterion for a target with the sum `inside`.
    fn cost_of(&self, plan: &Plan, inside: RegionSum) -> f64 {
        plan.noise.cost(&inside) + plan.noise.cost(&(self.whole - inside))
    }

    /// Makes one iteration, with the change of phase, distance or number of nodes that follows when it moves no node.
    /// It polls for cancellation throughout, as an iteration over very many nodes takes seconds. A cancelled target is
    /// as it was before the iteration.
    pub(super) fn iterate<T: Level>(&mut self, sums: &RowPrefixSums<T>, plan: &Plan, ticker: &Ticker) -> Result<()> {
        if self.status != Status::Running {
            return Ok(());
        }
        // The sums of candidates need not be kept: they would be computed to the same values.
        let before = Self { nodes: self.nodes.clone(), edges: self.edges.clone(), candidate_sums: Vec::new(), ..*self };
        let outcome = self.whole_iteration(sums, plan, ticker);
        if outcome.is_err() {
            *self = before;
            self.forget_candidates();
        }
        outcome
    }

    /// Makes one iteration; after a cancel it may be incomplete.
    fn whole_iteration<T: Level>(&mut self, sums: &RowPrefixSums<T>, plan: &Plan, ticker: &Ticker) -> Result<()> {
        // 1. Move nodes.
        let mut changed = self.move_nodes(sums, plan, ticker)?;
        self.iterations += 1;
        if self.inside.pixels == 0 {
            self.status = Status::Vanished;
            return Ok(());
        }
        // 2. If none moved: add nodes and halve the distance, then remove nodes.
        if !changed {
            changed = match self.phase {
                Phase::Evolve => {
                    let added = self.add_nodes(sums, plan, ticker)?;
                    let halved = self.distance > 1;
                    if halved {
                        self.distance /= 2;
                        self.forget_candidates();
                    }
                    if !added && !halved && plan.node_cost > 0.0 {
                        self.phase = Phase::Prune;
                        self.remove_nodes(sums, plan, ticker)?
                    } else {
                        added || halved
                    }
                }
                Phase::Prune => self.remove_nodes(sums, plan, ticker)?,
            };
        }
        // 3. The search ends when nothing changed, or at the limit.
        if !changed {
            self.status = Status::Converged;
        } else if self.iterations >= plan.max_iterations {
            self.status = Status::IterationLimit;
        }
        if self.status != Status::Running {
            self.candidate_sums = Vec::new();
        }
        Ok(())
    }

    /// Moves nodes; returns whether any moved.
    fn move_nodes<T: Level>(&mut self, sums: &RowPrefixSums<T>, plan: &Plan, ticker: &Ticker) -> Result<bool> {
        let mut moved = false;
        for subset in self.subsets(plan.schedule) {
            let found = subset.filter_map(|node| self.best_move(sums, plan, node, ticker).transpose());
            let changes = found.collect::<Result<_>>()?;
            moved |= self.apply(sums, plan, changes, ticker)?;
        }
        Ok(moved)
    }

    /// Removes nodes; returns whether any was removed.
    fn remove_nodes<T: Level>(&mut self, sums: &RowPrefixSums<T>, plan: &Plan, ticker: &Ticker) -> Result<bool> {
        let removal = |node| self.removal(sums, plan, node, ticker).transpose();
        let changes = match plan.schedule {
            // Only the first one is taken, because its removal changes the polygon.
            Schedule::Sequential => (0..self.nodes.len()).find_map(removal).transpose()?.into_iter().collect(),
            Schedule::Parallel => {
                let even = (0..self.nodes.len() & !1).step_by(2);
                let odd = (1..self.nodes.len()).step_by(2);
                let found: Vec<Change> = even.filter_map(removal).collect::<Result<_>>()?;
                if found.is_empty() { odd.filter_map(removal).collect::<Result<_>>()? } else { found }
            }
        };
        self.apply(sums, plan, changes, ticker)
    }

    /// Returns the subsets of nodes whose moves are found for the same polygon.
    fn subsets(&self, schedule: Schedule) -> Vec<std::iter::StepBy<std::ops::Range<usize>>> {
        let count = self.nodes.len();
        match schedule {
            Schedule::Sequential => (0..count).map(|node| (node..node + 1).step_by(1)).collect(),
            Schedule::Parallel => {
                let mut subsets = vec![(0..count & !1).step_by(2), (1..count).step_by(2)];
                if count % 2 == 1 {
                    subsets.push((count - 1..count).step_by(1));
                }
                subsets
            }
        }
    }

    /// Returns the eight candidate positions of a node; `None` for those outside the bounds.
    fn candidates(&self, node: usize) -> [Option<Node>; CANDIDATES.len()] {
        let here = self.nodes[node];
        CANDIDATES.map(|(dx, dy)| {
            let to = Node::new(here.x + dx * self.distance, here.y + dy * self.distance);
            self.bounds.contain(to).then_some(to)
        })
    }

    /// Returns what a move to each candidate position of a node adds to the sum inside.
    fn measure_candidates<T: Level>(
        &self,
        sums: &RowPrefixSums<T>,
        node: usize,
        ticker: &Ticker,
    ) -> Result<[RegionSum; CANDIDATES.len()]> {
        let count = self.nodes.len();
        let (previous, next) = (self.node(node + count - 1), self.node(node + 1));
        let without = RegionSum::default() - self.edges[(node + count - 1) % count] - self.edges[node];
        // For a candidate outside the bounds the node itself is measured; the result is not used.
        let candidates = self.candidates(node).map(|to| to.unwrap_or(self.nodes[node]));
        let arrivals = sums.try_edges(candidates.map(|to| (previous, to)), ticker)?;
        let departures = sums.try_edges(candidates.map(|to| (to, next)), ticker)?;
        Ok(std::array::from_fn(|index| without + arrivals[index] + departures[index]))
    }

    /// Returns the best move of one node that improves the criterion and crosses nothing, if there is one.
    fn best_move<T: Level>(
        &mut self,
        sums: &RowPrefixSums<T>,
        plan: &Plan,
        node: usize,
        ticker: &Ticker,
    ) -> Result<Option<Change>> {
        ticker.check()?;
        // 1. Measure the candidates, unless they are known.
        let differences = match self.candidate_sums[node] {
            Some(differences) => differences,
            None => self.measure_candidates(sums, node, ticker)?,
        };
        self.candidate_sums[node] = Some(differences);
        // 2. Sort those that improve the criterion.
        let mut better: Vec<(usize, Change)> = (self.candidates(node).into_iter().zip(differences).enumerate())
            .filter_map(|(index, (to, difference))| {
                let cost = self.cost_of(plan, self.inside + difference);
                (to.is_some() && cost < self.cost).then_some((index, Change { node, to, difference, cost }))
            })
            .collect();
        better.sort_by(|(a, x), (b, y)| x.cost.total_cmp(&y.cost).then(a.cmp(b)));
        // 3. Take the first that crosses nothing.
        for (_, change) in better {
            if !self.crosses(std::slice::from_ref(&change), ticker)? {
                return Ok(Some(change));
            }
        }
        Ok(None)
    }

    /// Returns the removal of one node, if it improves the criterion with the cost of nodes and crosses nothing.
    fn removal<T: Level>(
        &self,
        sums: &RowPrefixSums<T>,
        plan: &Plan,
        node: usize,
        ticker: &Ticker,
    ) -> Result<Option<Change>> {
        ticker.check()?;
        let count = self.nodes.len();
        if count <= 3 {
            return Ok(None);
        }
        let (previous, next) = (self.node(node + count - 1), self.node(node + 1));
        let [edge] = sums.try_edges([(previous, next)], ticker)?;
        let difference = edge - self.edges[(node + count - 1) % count] - self.edges[node];
        let cost = self.cost_of(plan, self.inside + difference);
        let change = Change { node, to: None, difference, cost };
        let good = cost - plan.node_cost < self.cost && !self.crosses(std::slice::from_ref(&change), ticker)?;
        Ok(good.then_some(change))
    }

    /// Makes the changes together if together they improve the criterion, else the better half of them, and so on;
    /// returns whether it made any. No two are of neighbouring nodes, so that their changes of the sum add up.
    fn apply<T: Level>(
        &mut self,
        sums: &RowPrefixSums<T>,
        plan: &Plan,
        mut changes: Vec<Change>,
        ticker: &Ticker,
    ) -> Result<bool> {
        changes.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(a.node.cmp(&b.node)));
        while !changes.is_empty() {
            let inside = self.inside + changes.iter().map(|change| change.difference).sum();
            let cost = self.cost_of(plan, inside);
            let removed = changes.iter().filter(|change| change.to.is_none()).count();
            let good = cost - plan.node_cost * (removed as f64) < self.cost
                && self.nodes.len() - removed >= 3
                && (changes.len() == 1 || !self.crosses(&changes, ticker)?);
            if good {
                self.commit(sums, &changes, ticker)?;
                self.inside = inside;
                self.cost = cost;
                return Ok(true);
            }
            changes.truncate(changes.len() / 2);
        }
        Ok(false)
    }

    /// Writes the changes to nodes and edges, and forgets the sums of candidates that they affect.
    fn commit<T: Level>(&mut self, sums: &RowPrefixSums<T>, changes: &[Change], ticker: &Ticker) -> Result<()> {
        let mut gone = Vec::new();
        for change in changes {
            match change.to {
                Some(to) => self.nodes[change.node] = to,
                None => gone.push(change.node),
            }
        }
        let count = self.nodes.len();
        for change in changes.iter().filter(|change| change.to.is_some()) {
            let (before, after) = ((change.node + count - 1) % count, (change.node + 1) % count);
            for edge in [before, change.node] {
                [self.edges[edge]] = sums.try_edges([(self.nodes[edge], self.node(edge + 1))], ticker)?;
            }
            for neighbour in [before, change.node, after] {
                self.candidate_sums[neighbour] = None;
            }
        }
        if !gone.is_empty() {
            let mut stays = vec![true; count];
            gone.into_iter().for_each(|node| stays[node] = false);
            let mut stays = stays.into_iter();
            self.nodes.retain(|_| stays.next() == Some(true));
            self.edges = self.edge_sums(sums, ticker)?;
            self.forget_candidates();
        }
        Ok(())
    }

    /// Returns whether the polygon with these changes touches itself at a new edge, or is turned inside out.
    fn crosses(&self, changes: &[Change], ticker: &Ticker) -> Result<bool> {
        // 1. The changed polygon, with the edges that are new: those that begin or end at a changed node.
        let mut nodes = self.nodes.clone();
        let mut gone = vec![false; nodes.len()];
        let mut touched = vec![false; nodes.len()];
        for change in changes {
            touched[change.node] = true;
            match change.to {
                Some(to) => nodes[change.node] = to,
                None => gone[change.node] = true,
            }
        }
        let count = nodes.len();
        let mut kept = Vec::with_capacity(count);
        let mut new_edge = Vec::with_capacity(count);
        for index in 0..count {
            if !gone[index] {
                kept.push(nodes[index]);
                new_edge.push(touched[index] || touched[(index + 1) % count]);
            }
        }
        // 2. A move by more than its size can turn a small polygon inside out without a crossing.
        if twice_area(&kept) <= 0 {
            return Ok(true);
        }
        // 3. Test each new edge against all others.
        for edge in (0..kept.len()).filter(|edge| new_edge[*edge]) {
            ticker.check()?;
            if edge_crosses(|i| kept[i], kept.len(), edge) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds a node in the middle of every long edge, up to the maximum; returns whether it added any. The middle is
    /// rounded to a corner, which can make the polygon touch itself where edges are less than a pixel apart: an edge
    /// that would, so bent, touch another one, straight or bent, gets none.
    fn add_nodes<T: Level>(&mut self, sums: &RowPrefixSums<T>, plan: &Plan, ticker: &Ticker) -> Result<bool> {
        let count = self.nodes.len();
        let middles: Vec<Option<Node>> = (0..count)
            .map(|index| {
                let (a, b) = (self.nodes[index], self.node(index + 1));
                let (dx, dy) = (i64::from(b.x) - i64::from(a.x), i64::from(b.y) - i64::from(a.y));
                let middle = Node::new((a.x + b.x).div_euclid(2), (a.y + b.y).div_euclid(2));
                (dx * dx + dy * dy > plan.spacing_squared).then_some(middle)
            })
            .collect();
        let mut left = plan.max_nodes.saturating_sub(count);
        let mut nodes = Vec::with_capacity(2 * count);
        for index in 0..count {
            ticker.check()?;
            nodes.push(self.nodes[index]);
            if let Some(middle) = middles[index]
                && left > 0
                && !self.bend_touches(&middles, index, middle)
            {
                nodes.push(middle);
                left -= 1;
            }
        }
        let added = nodes.len() > count;
        if added {
            self.nodes = nodes;
            let edges = self.edge_sums(sums, ticker)?;
            self.set_edges(plan, edges);
        }
        Ok(added)
    }

    /// Returns whether edge `index`, bent at `m`, touches itself or another edge, straight or bent at its middle.
    fn bend_touches(&self, middles: &[Option<Node>], index: usize, m: Node) -> bool {
        let count = self.nodes.len();
        let (a, b) = (self.nodes[index], self.node(index + 1));
        // The test for an edge from c to d. `follows` means that c is b, and `precedes` that d is a.
        let touches = |c: Node, d: Node, follows: bool, precedes: bool| {
            (if follows { folds(m, b, d) } else { intersect(m, b, c, d) })
                || (if precedes { folds(c, a, m) } else { intersect(a, m, c, d) })
        };
        folds(a, m, b)
            || (0..count).filter(|other| *other != index).any(|other| {
                let (c, d) = (self.nodes[other], self.node(other + 1));
                let (follows, precedes) = (other == (index + 1) % count, (other + 1) % count == index);
                touches(c, d, follows, precedes)
                    || middles[other].is_some_and(|n| touches(c, n, follows, false) || touches(n, d, false, precedes))
            })
    }
}
