//! The search of one target: nodes move to the best of eight candidate positions around them as long as this improves the
//! criterion.
//!
//! An *iteration* tries to move every node once, by a distance d. If no node moves, every edge longer than
//! [`node_spacing`](super::Params::node_spacing) gets a node in its middle, and d is halved, down to 1. Without a node cost
//! the target has converged when no node moves at d = 1 and none can be added: no move of one node by one pixel improves
//! the criterion.
//!
//! *Sequential* (Algorithm 2 of Perrot et al. 2011): node after node moves to its best candidate position. *Parallel*
//! (Algorithm 3 there): the best candidates of all even nodes are found for the same polygon, then those of all odd nodes.
//! (With an odd number of nodes the last one is treated separately, because its next neighbour is even, too.) Moves that
//! each improve the criterion alone are made together only if they improve it together and cross nothing. Otherwise the
//! better half of them is tried, and so on down to the best move alone, which is known to improve the criterion.
//!
//! With a node cost, the search ends with a second phase, in the same two schedules: nodes are removed if that improves the
//! criterion including the cost of nodes, and the remaining ones move with d = 1, until neither improves it. No nodes are
//! added in this phase.

use super::criterion::Noise;
use super::edge_index::EdgeIndex;
use super::polygon::{Bounds, Node, folds, intersect};
use super::sums::{Level, RegionSum, RowPrefixSums, TASK};
use super::territory::Territory;
use super::{Schedule, Status};
use crate::error::Result;
use crate::memory::{collected, par_collected, reserved, resize, try_collected};
use crate::progress::Ticker;
use rayon::prelude::*;
use std::iter::StepBy;
use std::ops::Range;
use std::sync::Arc;

/// The directions from a node to its eight candidate positions. If several are equally good, the first one wins.
pub(super) const CANDIDATES: [(i32, i32); 8] = [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)];

/// The work of testing one changed node for a crossing, in the unit of [`TASK`].
const CROSSING_WORK: i64 = 32;

/// The parameters of the search of one target, with each automatic one computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) noise: Noise,
    pub(super) schedule: Schedule,
    /// The most nodes that a target may have.
    pub(super) max_nodes: usize,
    pub(super) max_iterations: u64,
    /// The cost of a node, in units of the criterion.
    pub(super) node_cost: f64,
    /// True if several CPU threads share the work of this target.
    pub(super) parallel: bool,
}

/// The image in which targets are searched, the plan of the search, and the ticker that can cancel it.
pub(super) struct Setting<'a, T> {
    pub(super) sums: &'a RowPrefixSums<T>,
    pub(super) plan: &'a Plan,
    pub(super) ticker: &'a Ticker,
}

impl<T: Level> Setting<'_, T> {
    /// Returns the sums of edges of a target.
    fn edges<const N: usize>(&self, target: &Target, ends: [(Node, Node); N]) -> Result<[RegionSum; N]> {
        self.sums.try_edges(ends, target.territory.as_deref(), self.plan.parallel, self.ticker)
    }
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
#[derive(Debug)]
pub(super) struct Target {
    pub(super) nodes: Vec<Node>,
    /// At index i the sum of the edge from node i to the next node, as defined by [`RowPrefixSums::try_edges`]. Together
    /// they add up to `inside`.
    edges: Vec<RegionSum>,
    /// For each node the sums of its two edges at each of its candidate positions; empty if none are known. They are kept
    /// from the first attempt until the node or a neighbour moves, because most nodes do not move in most iterations.
    candidate_sums: Vec<Option<CandidateSums>>,
    /// The index of the edges. It is made at the first test for a crossing, and dropped when several nodes change at once.
    index: Option<EdgeIndex>,
    /// The bounds of the nodes: the window, or the image.
    pub(super) bounds: Bounds,
    /// The pixels that may belong to the target; `None` if targets do not compete.
    pub(super) territory: Option<Arc<Territory>>,
    /// The sum over all pixels within the bounds: target and background.
    pub(super) whole: RegionSum,
    /// The sum over the pixels inside the polygon.
    pub(super) inside: RegionSum,
    /// The criterion, without the cost of the nodes.
    pub(super) cost: f64,
    /// The distance d of the candidate positions, along each axis, in pixels.
    pub(super) distance: i32,
    /// The square of the length above which an edge gets a node.
    pub(super) spacing_squared: i64,
    phase: Phase,
    /// The number of iterations done.
    pub(super) iterations: u64,
    pub(super) status: Status,
}

/// For each candidate position of a node, the sums of the edges to it and from it.
type CandidateSums = [[RegionSum; 2]; CANDIDATES.len()];

/// A change of one node: a move, or its removal.
#[derive(Clone, Copy, Debug)]
struct Change {
    node: usize,
    /// The new position; `None` for a removal.
    to: Option<Node>,
    /// The sums of the edges to and from the new position. For a removal, the sum of the edge between the neighbours, and
    /// 0.
    edges: [RegionSum; 2],
    /// The difference that the change makes to the sum inside.
    difference: RegionSum,
    /// The criterion after the change alone.
    cost: f64,
}

impl Target {
    /// Computes the sums of a target at its start.
    pub(super) fn measure<T: Level>(&mut self, setting: &Setting<'_, T>) -> Result<()> {
        let Setting { sums, plan, ticker } = *setting;
        self.whole = sums.rectangle(&self.bounds, plan.parallel, ticker)?;
        let edges = self.edge_sums(setting)?;
        self.set_edges(plan, edges);
        if self.inside.pixels == 0 {
            self.status = Status::Vanished;
        }
        Ok(())
    }

    /// Returns a target without its sums. `nodes` come from [`normalise`](super::polygon::normalise).
    pub(super) fn unmeasured(nodes: Vec<Node>, bounds: Bounds, distance: i32, spacing_squared: i64) -> Self {
        Self {
            nodes,
            edges: Vec::new(),
            candidate_sums: Vec::new(),
            index: None,
            bounds,
            territory: None,
            whole: RegionSum::default(),
            inside: RegionSum::default(),
            cost: 0.0,
            distance,
            spacing_squared,
            phase: Phase::Evolve,
            iterations: 0,
            status: Status::Running,
        }
    }

    /// Returns a target whose initial polygon lies outside the image: there is nothing to search.
    pub(super) fn start_outside(nodes: Vec<Node>, bounds: Bounds) -> Self {
        Self { status: Status::StartOutside, ..Self::unmeasured(nodes, bounds, 1, i64::MAX) }
    }

    /// Returns a copy, or an error when out of memory. The sums of candidates and the index are not copied, because they
    /// can be computed again.
    pub(super) fn try_clone(&self) -> Result<Self> {
        Ok(Self {
            nodes: collected(self.nodes.iter().copied())?,
            edges: collected(self.edges.iter().copied())?,
            candidate_sums: Vec::new(),
            index: None,
            territory: self.territory.clone(),
            ..*self
        })
    }

    /// Returns a placeholder for a target.
    pub(super) fn none() -> Self {
        Self::start_outside(Vec::new(), Bounds { x0: 0, y0: 0, x1: 0, y1: 0 })
    }

    /// Frees the memory that only the search of a target needs, after it has ended.
    pub(super) fn end_search(&mut self) {
        self.edges = Vec::new();
    }

    /// Returns a node. Indices beyond the last node continue with the first one.
    fn node(&self, index: usize) -> Node {
        self.nodes[index % self.nodes.len()]
    }

    /// Returns the nodes before and after a node.
    fn neighbours(&self, node: usize) -> [Node; 2] {
        [self.node(node + self.nodes.len() - 1), self.node(node + 1)]
    }

    /// Returns the ends of each edge.
    pub(super) fn ends(&self) -> impl ExactSizeIterator<Item = (Node, Node)> {
        (0..self.nodes.len()).map(|i| (self.nodes[i], self.node(i + 1)))
    }

    /// Returns the sums of all edges, computed anew.
    fn edge_sums<T: Level>(&self, setting: &Setting<'_, T>) -> Result<Vec<RegionSum>> {
        try_collected(self.ends().map(|ends| Ok(setting.edges(self, [ends])?[0])))
    }

    /// Sets the sums of the edges of a new polygon, and computes the target's sum and criterion from them.
    fn set_edges(&mut self, plan: &Plan, edges: Vec<RegionSum>) {
        self.edges = edges;
        self.candidate_sums.clear();
        self.inside = self.edges.iter().copied().sum();
        self.cost = self.cost_of(plan, self.inside);
    }

    /// Returns the criterion for a target with the sum `inside`.
    fn cost_of(&self, plan: &Plan, inside: RegionSum) -> f64 {
        plan.noise.cost(&inside) + plan.noise.cost(&(self.whole - inside))
    }

    /// Makes one iteration. If no node moves, it also adds nodes, halves the distance or changes the phase. It polls for
    /// cancellation throughout, because an iteration over very many nodes may take a second. A cancelled target is
    /// unchanged.
    pub(super) fn iterate<T: Level>(&mut self, setting: &Setting<'_, T>) -> Result<()> {
        let before = self.try_clone()?;
        let outcome = self.whole_iteration(setting);
        if outcome.is_err() {
            *self = before;
            self.candidate_sums.clear();
        }
        outcome
    }

    /// Makes one iteration, which may be incomplete after a cancellation.
    fn whole_iteration<T: Level>(&mut self, setting: &Setting<'_, T>) -> Result<()> {
        // 1. Move nodes.
        let mut changed = self.move_nodes(setting)?;
        self.iterations += 1;
        let vanished = self.inside.pixels == 0;
        // 2. If none moved: add nodes and halve the distance, then remove nodes.
        if !changed && !vanished {
            changed = match self.phase {
                Phase::Evolve => {
                    let added = self.add_nodes(setting)?;
                    let halved = self.distance > 1;
                    if halved {
                        self.distance /= 2;
                        self.candidate_sums.clear();
                    }
                    if !added && !halved && setting.plan.node_cost > 0.0 {
                        self.phase = Phase::Prune;
                        self.remove_nodes(setting)?
                    } else {
                        added || halved
                    }
                }
                Phase::Prune => self.remove_nodes(setting)?,
            };
        }
        // 3. The search ends when nothing changed, or at the limit.
        if vanished {
            self.status = Status::Vanished;
        } else if !changed {
            self.status = Status::Converged;
        } else if self.iterations >= setting.plan.max_iterations {
            self.status = Status::IterationLimit;
        }
        if self.status != Status::Running {
            self.candidate_sums = Vec::new();
            self.index = None;
        }
        Ok(())
    }

    /// Moves nodes. Returns true if any node has moved.
    fn move_nodes<T: Level>(&mut self, setting: &Setting<'_, T>) -> Result<bool> {
        let Setting { plan, ticker, .. } = *setting;
        // Allocate the sums of candidates only now, so that targets that are waiting need no memory for them.
        resize(&mut self.candidate_sums, self.nodes.len(), None)?;
        let mut moved = false;
        for subset in self.subsets(plan.schedule) {
            let subset = collected(subset)?;
            // 1. Measure the candidates that are not known.
            let mut unknown = reserved(subset.len())?;
            unknown.extend(subset.iter().copied().filter(|node| self.candidate_sums[*node].is_none()));
            let rows = |node: usize| {
                let here = self.nodes[node];
                let far = |other: Node| i64::from((here.y - other.y).abs() + self.distance);
                CANDIDATES.len() as i64 * self.neighbours(node).map(far).iter().sum::<i64>()
            };
            let measure = |node| Ok(Some((node, self.measure_candidates(setting, node)?)));
            for (node, candidate_sums) in for_each_node(plan, unknown, rows, measure)? {
                self.candidate_sums[node] = Some(candidate_sums);
            }
            // 2. Find the best move of each node, and make as many of them as together improve the criterion.
            let index = self.index()?;
            let best_move = |node| self.best_move(plan, &index, node, ticker);
            let moves = for_each_node(plan, subset, |_| CROSSING_WORK, best_move)?;
            self.index = Some(index);
            moved |= self.apply(plan, moves, ticker)?;
        }
        Ok(moved)
    }

    /// Takes the index of the edges, or makes one. The caller puts it back unless the nodes change.
    fn index(&mut self) -> Result<EdgeIndex> {
        self.index.take().map_or_else(|| EdgeIndex::new(&self.nodes), Ok)
    }

    /// Removes nodes. Returns true if any node was removed.
    fn remove_nodes<T: Level>(&mut self, setting: &Setting<'_, T>) -> Result<bool> {
        let Setting { plan, ticker, .. } = *setting;
        let index = self.index()?;
        let removal = |node| self.removal(setting, &index, node);
        let changes = match plan.schedule {
            // Remove only the first one found, because its removal changes the polygon.
            Schedule::Sequential => {
                let found = (0..self.nodes.len()).find_map(|node| removal(node).transpose());
                found.transpose()?.into_iter().collect()
            }
            Schedule::Parallel => {
                let mut found = Vec::new();
                for subset in self.subsets(plan.schedule) {
                    if found.is_empty() {
                        found = for_each_node(plan, collected(subset)?, |_| CROSSING_WORK, removal)?;
                    }
                }
                found
            }
        };
        self.index = Some(index);
        self.apply(plan, changes, ticker)
    }

    /// Returns the subsets of nodes whose moves are found for the same polygon. In the parallel schedule: the even nodes,
    /// the odd nodes and, if the number of nodes is odd, the last one.
    fn subsets(&self, schedule: Schedule) -> impl Iterator<Item = StepBy<Range<usize>>> + use<> {
        let count = self.nodes.len();
        let subsets = match schedule {
            Schedule::Sequential => count,
            Schedule::Parallel => 2 + count % 2,
        };
        (0..subsets).map(move |index| match (schedule, index) {
            (Schedule::Sequential, node) => (node..node + 1).step_by(2),
            (Schedule::Parallel, 0) => (0..count & !1).step_by(2),
            (Schedule::Parallel, 1) => (1..count).step_by(2),
            (Schedule::Parallel, _) => (count - 1..count).step_by(2),
        })
    }

    /// Returns the eight candidate positions of a node; `None` for positions where no node may lie.
    fn candidates(&self, node: usize) -> [Option<Node>; CANDIDATES.len()] {
        let here = self.nodes[node];
        CANDIDATES.map(|(dx, dy)| {
            let to = Node::new(here.x + dx * self.distance, here.y + dy * self.distance);
            self.allows(to).then_some(to)
        })
    }

    /// Returns the sums of a node's edges at each of its candidate positions.
    fn measure_candidates<T: Level>(&self, setting: &Setting<'_, T>, node: usize) -> Result<CandidateSums> {
        let [previous, next] = self.neighbours(node);
        // For a position where no node may lie, measure the node itself; the result is not used.
        let candidates = self.candidates(node).map(|to| to.unwrap_or(self.nodes[node]));
        let arrivals = setting.edges(self, candidates.map(|to| (previous, to)))?;
        let departures = setting.edges(self, candidates.map(|to| (to, next)))?;
        Ok(std::array::from_fn(|index| [arrivals[index], departures[index]]))
    }

    /// Returns the best move of one node that improves the criterion and crosses nothing, if there is one. The node's
    /// candidates must have been measured.
    fn best_move(&self, plan: &Plan, index: &EdgeIndex, node: usize, ticker: &Ticker) -> Result<Option<Change>> {
        ticker.check()?;
        let Some(candidate_sums) = &self.candidate_sums[node] else { return Ok(None) };
        // 1. Keep the candidates that improve the criterion.
        let candidates = self.candidates(node);
        let mut better: [Option<Change>; CANDIDATES.len()] = std::array::from_fn(|index| {
            let change = self.change(plan, node, Some(candidates[index]?), candidate_sums[index]);
            (change.cost < self.cost).then_some(change)
        });
        // 2. Take the best that crosses nothing; of equal ones the first.
        let cost = |change: &Option<Change>| change.as_ref().map_or(f64::INFINITY, |change| change.cost);
        let best = |a: &&mut Option<Change>, b: &&mut Option<Change>| cost(a).total_cmp(&cost(b));
        while let Some(change) = better.iter_mut().min_by(best).and_then(Option::take) {
            if !index.crosses_after(&self.nodes, change.node, change.to) {
                return Ok(Some(change));
            }
        }
        Ok(None)
    }

    /// Returns the change of one node to `to`, or its removal, given the sums `edges` of its edges after it.
    #[inline(always)]
    fn change(&self, plan: &Plan, node: usize, to: Option<Node>, edges: [RegionSum; 2]) -> Change {
        let count = self.nodes.len();
        let difference = edges[0] + edges[1] - self.edges[(node + count - 1) % count] - self.edges[node];
        Change { node, to, edges, difference, cost: self.cost_of(plan, self.inside + difference) }
    }

    /// Returns the removal of one node, if it improves the criterion with the cost of nodes and crosses nothing.
    fn removal<T: Level>(&self, setting: &Setting<'_, T>, index: &EdgeIndex, node: usize) -> Result<Option<Change>> {
        let Setting { plan, ticker, .. } = *setting;
        ticker.check()?;
        if self.nodes.len() <= 3 {
            return Ok(None);
        }
        let [previous, next] = self.neighbours(node);
        let [edge] = setting.edges(self, [(previous, next)])?;
        let change = self.change(plan, node, None, [edge, RegionSum::default()]);
        let good = change.cost - plan.node_cost < self.cost && !index.crosses_after(&self.nodes, node, None);
        Ok(good.then_some(change))
    }

    /// Makes all changes if together they improve the criterion, otherwise the better half of them, and so on. Returns true
    /// if it made any. No two changes are of neighbouring nodes, so their differences of the sum add up.
    fn apply(&mut self, plan: &Plan, mut changes: Vec<Change>, ticker: &Ticker) -> Result<bool> {
        changes.sort_unstable_by(|a, b| a.cost.total_cmp(&b.cost).then(a.node.cmp(&b.node)));
        while !changes.is_empty() {
            let inside = self.inside + changes.iter().map(|change| change.difference).sum();
            let cost = self.cost_of(plan, inside);
            let removed = changes.iter().filter(|change| change.to.is_none()).count();
            let good = cost - plan.node_cost * (removed as f64) < self.cost
                && self.nodes.len() - removed >= 3
                && (changes.len() == 1 || !self.crosses(plan, &changes, ticker)?);
            if good {
                self.commit(&changes)?;
                self.inside = inside;
                self.cost = cost;
                return Ok(true);
            }
            changes.truncate(changes.len() / 2);
        }
        Ok(false)
    }

    /// Writes the changes to nodes and edges, and drops the sums of candidates that they affect.
    fn commit(&mut self, changes: &[Change]) -> Result<()> {
        let count = self.nodes.len();
        let mut stays = Vec::new();
        resize(&mut stays, count, true)?;
        match (&mut self.index, changes) {
            (Some(index), [Change { node, to: Some(to), .. }]) => index.move_node(&self.nodes, *node, *to),
            _ => self.index = None,
        }
        for change in changes {
            let node = change.node;
            let (before, after) = ((node + count - 1) % count, (node + 1) % count);
            match change.to {
                Some(to) => self.nodes[node] = to,
                None => stays[node] = false,
            }
            [self.edges[before], self.edges[node]] = change.edges;
            for neighbour in [before, node, after] {
                self.candidate_sums[neighbour] = None;
            }
        }
        if stays.contains(&false) {
            keep(&mut self.nodes, &stays);
            keep(&mut self.edges, &stays);
            keep(&mut self.candidate_sums, &stays);
        }
        Ok(())
    }

    /// Tells whether the polygon would touch itself at a new edge, or be turned inside out, after these changes.
    fn crosses(&self, plan: &Plan, changes: &[Change], ticker: &Ticker) -> Result<bool> {
        // 1. Make the changed polygon and find its new edges, which begin or end at a changed node.
        let mut nodes = collected(self.nodes.iter().copied())?;
        let (mut gone, mut touched) = (Vec::new(), Vec::new());
        resize(&mut gone, nodes.len(), false)?;
        resize(&mut touched, nodes.len(), false)?;
        for change in changes {
            touched[change.node] = true;
            match change.to {
                Some(to) => nodes[change.node] = to,
                None => gone[change.node] = true,
            }
        }
        let count = nodes.len();
        let mut kept = reserved(count)?;
        let mut edges = reserved(count)?;
        for index in 0..count {
            if !gone[index] {
                if touched[index] || touched[(index + 1) % count] {
                    edges.push(kept.len());
                }
                kept.push(nodes[index]);
            }
        }
        // 2. Test as for a single change, with the index of the changed polygon.
        let index = EdgeIndex::new(&kept)?;
        if index.twice_area <= 0 {
            return Ok(true);
        }
        let edges_per_task = if plan.parallel { (TASK / CROSSING_WORK) as usize } else { usize::MAX };
        let test = |edge: &usize| ticker.check().is_err() || index.crosses_at(&kept, *edge);
        let crosses = edges.par_iter().with_min_len(edges_per_task).any(test);
        ticker.check().map(|()| crosses)
    }

    /// Adds a node in the middle of every long edge, up to the maximum number. Returns true if it added any. The middle is
    /// rounded to a pixel corner, which bends the edge; where edges are less than a pixel apart, the polygon might then
    /// touch itself. An edge that would touch another one, whether that is bent or not, gets no node.
    fn add_nodes<T: Level>(&mut self, setting: &Setting<'_, T>) -> Result<bool> {
        let Setting { plan, ticker, .. } = *setting;
        let count = self.nodes.len();
        let middles: Vec<Option<Node>> = collected(self.ends().map(|(a, b)| {
            let (dx, dy) = (i64::from(b.x) - i64::from(a.x), i64::from(b.y) - i64::from(a.y));
            let middle = Node::new((a.x + b.x).div_euclid(2), (a.y + b.y).div_euclid(2));
            (dx * dx + dy * dy > self.spacing_squared).then_some(middle)
        }))?;
        let mut left = plan.max_nodes.saturating_sub(count);
        let edge_index = self.index()?;
        let mut nodes = reserved(2 * count)?;
        for index in 0..count {
            ticker.check()?;
            nodes.push(self.nodes[index]);
            if let Some(middle) = middles[index]
                && left > 0
                && !self.bend_touches(&edge_index, &middles, index, middle)
            {
                nodes.push(middle);
                left -= 1;
            }
        }
        let added = nodes.len() > count;
        self.index = (!added).then_some(edge_index);
        if added {
            self.nodes = nodes;
            let edges = self.edge_sums(setting)?;
            self.set_edges(plan, edges);
        }
        Ok(added)
    }

    /// Tells whether edge `index`, bent at `m`, would touch itself or another edge, whether that is straight or bent at its
    /// own middle.
    fn bend_touches(&self, edge_index: &EdgeIndex, middles: &[Option<Node>], index: usize, m: Node) -> bool {
        let count = self.nodes.len();
        let (a, b) = (self.nodes[index], self.node(index + 1));
        // The test for an edge from c to d. `follows` means that c is b, and `precedes` that d is a.
        let touches = |c: Node, d: Node, follows: bool, precedes: bool| {
            (if follows { folds(m, b, d) } else { intersect(m, b, c, d) })
                || (if precedes { folds(c, a, m) } else { intersect(a, m, c, d) })
        };
        folds(a, m, b)
            // The middle of an edge lies in its box.
            || edge_index.any_near(a, b, |other| {
                let (c, d) = (self.nodes[other], self.node(other + 1));
                let (follows, precedes) = (other == (index + 1) % count, (other + 1) % count == index);
                other != index
                    && (touches(c, d, follows, precedes)
                        || middles[other].is_some_and(|n| touches(c, n, follows, false) || touches(n, d, false, precedes)))
            })
    }
}

/// Returns the results of `find` for the nodes, in order. Several threads share the nodes if the plan says so and each
/// thread gets enough `work`, in the unit of [`TASK`].
fn for_each_node<R: Send>(
    plan: &Plan,
    nodes: Vec<usize>,
    work: impl Fn(usize) -> i64,
    find: impl Fn(usize) -> Result<Option<R>> + Sync + Send,
) -> Result<Vec<R>> {
    let all: i64 = if plan.parallel { nodes.iter().map(|node| work(*node)).sum() } else { 0 };
    let mut found = reserved(nodes.len())?;
    if all <= TASK {
        for node in nodes {
            found.extend(find(node)?);
        }
        return Ok(found);
    }
    let nodes_per_task = nodes.len() as i64 * TASK / all;
    for result in par_collected(nodes.into_par_iter().with_min_len(nodes_per_task as usize).map(find))? {
        found.extend(result?);
    }
    Ok(found)
}

/// Removes the elements that do not stay.
fn keep<T>(list: &mut Vec<T>, stays: &[bool]) {
    let mut stays = stays.iter();
    list.retain(|_| stays.next().copied().unwrap_or_default());
}
