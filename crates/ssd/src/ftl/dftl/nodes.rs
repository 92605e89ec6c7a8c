//! The order of `tpftl` (Zhou 2015): entries in memory by their map page, its *node*.
//!
//! ```text
//! node of page 7   12 9 10 4     used last
//! node of page 2   81 80
//! node of page 5   33 35 31      used longest ago: 31 is clean, and leaves
//! ```
//!
//! The node used longest ago gives up its clean entries, the one used longest ago first; if it has
//! none, a dirty one, and one write of the page cleans all others of the node. The paper orders
//! nodes by the mean use of their entries; here it is the last use of any, as in the code of later
//! work. Neighbours are read ahead while nodes become fewer: a request in order follows others.

use super::order::{Entry, List, NONE};
use serde::{Deserialize, Serialize};

/// Nodes that must have gone, or come, before reading ahead begins or ends.
const TREND: i32 = 3;

/// The entries of a map page that are in memory.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Node {
    newer: u32,
    older: u32,
    entries: List,
}

/// All nodes, in the order of their last use.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Nodes {
    /// By map page: its node; one without entries is in no order.
    nodes: Vec<Node>,
    newest: u32,
    oldest: u32,
    per_page: u32,
    /// Nodes that have come since the last turn of the trend, less those that have gone.
    trend: i32,
    reads_ahead: bool,
}

impl Nodes {
    pub(super) fn new(pages: u32, per_page: u32) -> Self {
        let empty = Node { newer: NONE, older: NONE, entries: List::EMPTY };
        Self {
            nodes: vec![empty; pages as usize],
            newest: NONE,
            oldest: NONE,
            per_page,
            trend: 0,
            reads_ahead: false,
        }
    }

    fn page_of(&self, entries: &[Entry], entry: u32) -> u32 {
        entries[entry as usize].lpn / self.per_page
    }

    /// Takes in an entry as the one used last.
    pub(super) fn added(&mut self, entries: &mut [Entry], entry: u32) {
        let page = self.page_of(entries, entry);
        let list = &mut self.nodes[page as usize].entries;
        list.push(entries, entry);
        if list.count == 1 {
            self.push(page);
            self.turn(1);
        } else {
            self.renew(page);
        }
    }

    /// Notes the use of an entry.
    pub(super) fn used(&mut self, entries: &mut [Entry], entry: u32) {
        let page = self.page_of(entries, entry);
        self.nodes[page as usize].entries.renew(entries, entry);
        self.renew(page);
    }

    /// Takes out an entry that has left.
    pub(super) fn removed(&mut self, entries: &mut [Entry], entry: u32) {
        let page = self.page_of(entries, entry);
        let list = &mut self.nodes[page as usize].entries;
        list.remove(entries, entry);
        if list.count == 0 {
            self.unlink(page);
            self.turn(-1);
        }
    }

    /// Entry that is to leave the cache next.
    pub(super) fn victim(&self, entries: &[Entry], is_dirty: impl Fn(&Entry) -> bool) -> u32 {
        let List { newest, oldest, .. } = self.nodes[self.oldest as usize].entries;
        let mut entry = oldest;
        // The newest may be the one that was just read in.
        while entry != newest && is_dirty(&entries[entry as usize]) {
            entry = entries[entry as usize].newer;
        }
        if entry == newest { oldest } else { entry }
    }

    /// Entries that may be read ahead without touching more than the node used longest ago.
    pub(super) fn coldest(&self) -> u32 {
        if self.oldest == NONE { 0 } else { self.nodes[self.oldest as usize].entries.count }
    }

    /// Whether neighbours of a missing entry are to be read ahead.
    pub(super) fn reads_ahead(&self) -> bool {
        self.reads_ahead
    }

    fn turn(&mut self, by: i32) {
        self.trend += by;
        if self.trend.abs() >= TREND {
            self.reads_ahead = self.trend < 0;
            self.trend = 0;
        }
    }

    fn renew(&mut self, page: u32) {
        if self.newest != page {
            self.unlink(page);
            self.push(page);
        }
    }

    fn push(&mut self, page: u32) {
        let older = std::mem::replace(&mut self.newest, page);
        let own = &mut self.nodes[page as usize];
        (own.newer, own.older) = (NONE, older);
        match older {
            NONE => self.oldest = page,
            older => self.nodes[older as usize].newer = page,
        }
    }

    fn unlink(&mut self, page: u32) {
        let Node { newer, older, .. } = self.nodes[page as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.nodes[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.nodes[older as usize].newer = newer,
        }
    }
}
