//! The search of one target: nodes move to the best of eight places around them while that improves the criterion.
//!
//! A polygon moves in *steps* at a distance d. When a step moves no node, every edge longer than
//! [`node_spacing`](super::Params::node_spacing) gets a node in its middle and d is halved, down to 1. When no node moves
//! at d = 1 and none can be added the target has converged: no move of one node by one pixel improves the criterion.
//!
//! *Sequential* (Algorithm 2): node after node, each at once to its best place. *Parallel* (Algorithm 3): the best places of
//! all even nodes are sought from one and the same polygon, then those of all odd ones (with an odd number of nodes the
//! last one, which has two neighbours of its own kind, comes by itself). Moves that were each good alone are made
//! together only if together they improve the criterion and cross nothing; else the better half of them is tried, down to
//! the best one alone, which is good by itself.
//!
//! With a node cost, at the end nodes are taken out where that pays, in the same two schedules, and the others move on
//! at d = 1, until neither pays.

use super::criterion::Noise;
use super::polygon::{Bounds, Node, edge_crosses, folds, meet, twice_area};
use super::sums::{Level, Sum, Sums};
use super::{Schedule, Status};
use crate::error::Result;
use crate::progress::Ticker;

/// The eight places round a node, in the order in which a tie is decided.
pub(super) const PLACES: [(i32, i32); 8] = [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)];

/// What the search needs to know, resolved for one image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) noise: Noise,
    pub(super) schedule: Schedule,
    /// d at the start.
    pub(super) largest_step: i32,
    /// Edges longer than this, squared, get a node.
    pub(super) spacing_squared: i64,
    pub(super) max_nodes: usize,
    pub(super) max_steps: u64,
    /// What a node costs, in units of the criterion.
    pub(super) node_cost: f64,
}

/// What a target does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nodes move and are added.
    Evolve,
    /// Nodes are taken out, and move by one pixel.
    Prune,
}

/// One target.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) nodes: Vec<Node>,
    /// The part of the edge from node i to the next in the sum.
    edges: Vec<Sum>,
    /// What each node would add to the sum at its eight places: known from when it is first tried until it or a neighbour
    /// moves. Most nodes stand still in most steps.
    looked: Vec<Option<[Sum; PLACES.len()]>>,
    /// Where nodes may go, which with a window is the window.
    pub(super) bounds: Bounds,
    /// The sum over the bounds: target and background.
    pub(super) whole: Sum,
    pub(super) inside: Sum,
    /// The criterion, without the nodes' cost.
    pub(super) cost: f64,
    /// d.
    pub(super) distance: i32,
    phase: Phase,
    pub(super) steps: u64,
    pub(super) status: Status,
}

/// A change of one node: to another place, or out.
#[derive(Clone, Copy, Debug)]
struct Change {
    node: usize,
    to: Option<Node>,
    /// What it adds to the sum.
    difference: Sum,
    cost: f64,
}

impl Target {
    /// A target at its start, measured. `nodes`: as [`normalise`](super::polygon::normalise) gives them.
    pub(super) fn new<T: Level>(sums: &Sums<T>, rules: &Rules, nodes: Vec<Node>, bounds: Bounds) -> Self {
        let mut target = Self::unmeasured(nodes, bounds, rules.largest_step);
        target.whole = sums.rectangle(bounds.x0, bounds.y0, bounds.x1, bounds.y1);
        let edges = target.ends().map(|(a, b)| sums.edge(a, b)).collect();
        target.take_edges(rules, edges);
        if target.inside.pixels == 0 {
            target.status = Status::Vanished;
        }
        target
    }

    /// One whose sums are not known yet.
    pub(super) fn unmeasured(nodes: Vec<Node>, bounds: Bounds, distance: i32) -> Self {
        Self {
            nodes,
            edges: Vec::new(),
            looked: Vec::new(),
            bounds,
            whole: Sum::default(),
            inside: Sum::default(),
            cost: 0.0,
            distance,
            phase: Phase::Evolve,
            steps: 0,
            status: Status::Running,
        }
    }

    /// One that lies outside the image: nothing to search.
    pub(super) fn outside(nodes: Vec<Node>, bounds: Bounds) -> Self {
        Self { status: Status::LeftImage, ..Self::unmeasured(nodes, bounds, 1) }
    }

    fn node(&self, index: usize) -> Node {
        self.nodes[index % self.nodes.len()]
    }

    /// The ends of each edge.
    fn ends(&self) -> impl Iterator<Item = (Node, Node)> {
        (0..self.nodes.len()).map(|i| (self.nodes[i], self.node(i + 1)))
    }

    /// The sums of all edges anew.
    fn measure<T: Level>(&self, sums: &Sums<T>, ticker: &Ticker) -> Result<Vec<Sum>> {
        self.ends().map(|(a, b)| Ok(sums.try_edges([(a, b)], ticker)?[0])).collect()
    }

    /// The edges of a polygon that is new, with all that follows from them.
    fn take_edges(&mut self, rules: &Rules, edges: Vec<Sum>) {
        self.edges = edges;
        self.forget();
        self.inside = self.edges.iter().copied().sum();
        self.cost = self.cost_of(rules, self.inside);
    }

    /// Nothing has been looked at.
    fn forget(&mut self) {
        self.looked.clear();
        self.looked.resize(self.nodes.len(), None);
    }

    fn cost_of(&self, rules: &Rules, inside: Sum) -> f64 {
        rules.noise.cost(&inside) + rules.noise.cost(&(self.whole - inside))
    }

    /// One step, with what follows when it moves nothing. A cancel is looked for all along, as a step of very many nodes takes
    /// seconds; a target that was cancelled is as it was before the step.
    pub(super) fn step<T: Level>(&mut self, sums: &Sums<T>, rules: &Rules, ticker: &Ticker) -> Result<()> {
        if self.status != Status::Running {
            return Ok(());
        }
        // What has been looked at need not be kept: it would come out the same.
        let before = Self { nodes: self.nodes.clone(), edges: self.edges.clone(), looked: Vec::new(), ..*self };
        let outcome = self.whole_step(sums, rules, ticker);
        if outcome.is_err() {
            *self = before;
            self.forget();
        }
        outcome
    }

    /// One step; after a cancel it may be half done.
    fn whole_step<T: Level>(&mut self, sums: &Sums<T>, rules: &Rules, ticker: &Ticker) -> Result<()> {
        let mut changed = self.move_nodes(sums, rules, ticker)?;
        self.steps += 1;
        if self.inside.pixels == 0 {
            self.status = Status::Vanished;
            return Ok(());
        }
        if !changed {
            changed = match self.phase {
                Phase::Evolve => {
                    let added = self.add_nodes(sums, rules, ticker)?;
                    let halved = self.distance > 1;
                    if halved {
                        self.distance /= 2;
                        self.forget();
                    }
                    if !added && !halved && rules.node_cost > 0.0 {
                        self.phase = Phase::Prune;
                        self.take_out_nodes(sums, rules, ticker)?
                    } else {
                        added || halved
                    }
                }
                Phase::Prune => self.take_out_nodes(sums, rules, ticker)?,
            };
        }
        if !changed {
            self.status = Status::Converged;
        } else if self.steps >= rules.max_steps {
            self.status = Status::IterationLimit;
        }
        if self.status != Status::Running {
            self.looked = Vec::new();
        }
        Ok(())
    }

    /// Moves nodes; whether any moved.
    fn move_nodes<T: Level>(&mut self, sums: &Sums<T>, rules: &Rules, ticker: &Ticker) -> Result<bool> {
        let mut moved = false;
        for group in self.groups(rules.schedule) {
            let found = group.filter_map(|node| self.best_move(sums, rules, node, ticker).transpose());
            let changes = found.collect::<Result<_>>()?;
            moved |= self.apply(sums, rules, changes, ticker)?;
        }
        Ok(moved)
    }

    /// Takes nodes out; whether any went.
    fn take_out_nodes<T: Level>(&mut self, sums: &Sums<T>, rules: &Rules, ticker: &Ticker) -> Result<bool> {
        let removal = |node| self.removal(sums, rules, node, ticker).transpose();
        let changes = match rules.schedule {
            // The first that pays: the polygon is another one then.
            Schedule::Sequential => (0..self.nodes.len()).find_map(removal).transpose()?.into_iter().collect(),
            Schedule::Parallel => {
                let even = (0..self.nodes.len() & !1).step_by(2);
                let odd = (1..self.nodes.len()).step_by(2);
                let found: Vec<Change> = even.filter_map(removal).collect::<Result<_>>()?;
                if found.is_empty() { odd.filter_map(removal).collect::<Result<_>>()? } else { found }
            }
        };
        self.apply(sums, rules, changes, ticker)
    }

    /// The nodes whose moves are sought together, group after group.
    fn groups(&self, schedule: Schedule) -> Vec<std::iter::StepBy<std::ops::Range<usize>>> {
        let count = self.nodes.len();
        match schedule {
            Schedule::Sequential => (0..count).map(|node| (node..node + 1).step_by(1)).collect(),
            Schedule::Parallel => {
                let mut groups = vec![(0..count & !1).step_by(2), (1..count).step_by(2)];
                if count % 2 == 1 {
                    groups.push((count - 1..count).step_by(1));
                }
                groups
            }
        }
    }

    /// The eight places of a node; `None` outside the bounds.
    fn places(&self, node: usize) -> [Option<Node>; PLACES.len()] {
        let here = self.nodes[node];
        PLACES.map(|(dx, dy)| {
            let to = Node::new(here.x + dx * self.distance, here.y + dy * self.distance);
            self.bounds.contain(to).then_some(to)
        })
    }

    /// What a node would add to the sum at each of its places.
    fn look<T: Level>(&self, sums: &Sums<T>, node: usize, ticker: &Ticker) -> Result<[Sum; PLACES.len()]> {
        let count = self.nodes.len();
        let (previous, next) = (self.node(node + count - 1), self.node(node + 1));
        let without = Sum::default() - self.edges[(node + count - 1) % count] - self.edges[node];
        // A place outside stands for here; nobody asks.
        let places = self.places(node).map(|to| to.unwrap_or(self.nodes[node]));
        let arrivals = sums.try_edges(places.map(|to| (previous, to)), ticker)?;
        let departures = sums.try_edges(places.map(|to| (to, next)), ticker)?;
        Ok(std::array::from_fn(|place| without + arrivals[place] + departures[place]))
    }

    /// The best place of one node, if one improves and crosses nothing.
    fn best_move<T: Level>(
        &mut self,
        sums: &Sums<T>,
        rules: &Rules,
        node: usize,
        ticker: &Ticker,
    ) -> Result<Option<Change>> {
        ticker.check()?;
        let differences = match self.looked[node] {
            Some(differences) => differences,
            None => self.look(sums, node, ticker)?,
        };
        self.looked[node] = Some(differences);
        let mut better: Vec<(usize, Change)> = (self.places(node).into_iter().zip(differences).enumerate())
            .filter_map(|(place, (to, difference))| {
                let cost = self.cost_of(rules, self.inside + difference);
                (to.is_some() && cost < self.cost).then_some((place, Change { node, to, difference, cost }))
            })
            .collect();
        better.sort_by(|(a, x), (b, y)| x.cost.total_cmp(&y.cost).then(a.cmp(b)));
        for (_, change) in better {
            if !self.crosses(std::slice::from_ref(&change), ticker)? {
                return Ok(Some(change));
            }
        }
        Ok(None)
    }

    /// The removal of one node, if it pays and crosses nothing.
    fn removal<T: Level>(&self, sums: &Sums<T>, rules: &Rules, node: usize, ticker: &Ticker) -> Result<Option<Change>> {
        ticker.check()?;
        let count = self.nodes.len();
        if count <= 3 {
            return Ok(None);
        }
        let (previous, next) = (self.node(node + count - 1), self.node(node + 1));
        let [edge] = sums.try_edges([(previous, next)], ticker)?;
        let difference = edge - self.edges[(node + count - 1) % count] - self.edges[node];
        let cost = self.cost_of(rules, self.inside + difference);
        let change = Change { node, to: None, difference, cost };
        let good = cost - rules.node_cost < self.cost && !self.crosses(std::slice::from_ref(&change), ticker)?;
        Ok(good.then_some(change))
    }

    /// Makes the changes together if they are good together, else the better half of them, and so on; whether any.
    /// No two are of neighbouring nodes, so that what they add to the sum adds up.
    fn apply<T: Level>(
        &mut self,
        sums: &Sums<T>,
        rules: &Rules,
        mut changes: Vec<Change>,
        ticker: &Ticker,
    ) -> Result<bool> {
        changes.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(a.node.cmp(&b.node)));
        while !changes.is_empty() {
            let inside = self.inside + changes.iter().map(|change| change.difference).sum();
            let cost = self.cost_of(rules, inside);
            let removed = changes.iter().filter(|change| change.to.is_none()).count();
            let good = cost - rules.node_cost * (removed as f64) < self.cost
                && self.nodes.len() - removed >= 3
                && (changes.len() == 1 || !self.crosses(&changes, ticker)?);
            if good {
                self.make(sums, &changes, ticker)?;
                self.inside = inside;
                self.cost = cost;
                return Ok(true);
            }
            changes.truncate(changes.len() / 2);
        }
        Ok(false)
    }

    fn make<T: Level>(&mut self, sums: &Sums<T>, changes: &[Change], ticker: &Ticker) -> Result<()> {
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
                self.looked[neighbour] = None;
            }
        }
        if !gone.is_empty() {
            let mut stays = vec![true; count];
            gone.into_iter().for_each(|node| stays[node] = false);
            let mut stays = stays.into_iter();
            self.nodes.retain(|_| stays.next() == Some(true));
            self.edges = self.measure(sums, ticker)?;
            self.forget();
        }
        Ok(())
    }

    /// Whether the polygon with these changes touches itself where one of them has made a new edge, or is turned inside
    /// out.
    fn crosses(&self, changes: &[Change], ticker: &Ticker) -> Result<bool> {
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
        // The edges that begin at these nodes of the changed polygon are new.
        let count = nodes.len();
        let mut kept = Vec::with_capacity(count);
        let mut new_edge = Vec::with_capacity(count);
        for index in 0..count {
            if !gone[index] {
                kept.push(nodes[index]);
                new_edge.push(touched[index] || touched[(index + 1) % count]);
            }
        }
        // A jump can turn a small polygon inside out without a crossing.
        if twice_area(&kept) <= 0 {
            return Ok(true);
        }
        for edge in (0..kept.len()).filter(|edge| new_edge[*edge]) {
            ticker.check()?;
            if edge_crosses(|i| kept[i], kept.len(), edge) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Puts a node into the middle of every long edge, while there may be more; whether any. The middle is rounded to a
    /// corner, which can make the polygon touch itself where edges are less than a pixel apart: an edge that, bent, would
    /// touch another one, straight or bent, gets none.
    fn add_nodes<T: Level>(&mut self, sums: &Sums<T>, rules: &Rules, ticker: &Ticker) -> Result<bool> {
        let count = self.nodes.len();
        let middles: Vec<Option<Node>> = (0..count)
            .map(|index| {
                let (a, b) = (self.nodes[index], self.node(index + 1));
                let (dx, dy) = (i64::from(b.x) - i64::from(a.x), i64::from(b.y) - i64::from(a.y));
                let middle = Node::new((a.x + b.x).div_euclid(2), (a.y + b.y).div_euclid(2));
                (dx * dx + dy * dy > rules.spacing_squared).then_some(middle)
            })
            .collect();
        let mut room = rules.max_nodes.saturating_sub(count);
        let mut nodes = Vec::with_capacity(2 * count);
        for index in 0..count {
            ticker.check()?;
            nodes.push(self.nodes[index]);
            if let Some(middle) = middles[index]
                && room > 0
                && !self.bend_touches(&middles, index, middle)
            {
                nodes.push(middle);
                room -= 1;
            }
        }
        let added = nodes.len() > count;
        if added {
            self.nodes = nodes;
            let edges = self.measure(sums, ticker)?;
            self.take_edges(rules, edges);
        }
        Ok(added)
    }

    fn bend_touches(&self, middles: &[Option<Node>], index: usize, m: Node) -> bool {
        let count = self.nodes.len();
        let (a, b) = (self.nodes[index], self.node(index + 1));
        // The edge c to d; `follows`: c is b, `precedes`: d is a.
        let touches = |c: Node, d: Node, follows: bool, precedes: bool| {
            (if follows { folds(m, b, d) } else { meet(m, b, c, d) })
                || (if precedes { folds(c, a, m) } else { meet(a, m, c, d) })
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
