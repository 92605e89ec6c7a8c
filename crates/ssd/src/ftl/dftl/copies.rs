//! Copies of the pages of the map: where each of them lives, also after dies have failed.
//!
//! Pages of the map stand in no stripe. A drive with m pages of parity writes each of them m + 1
//! times, on different dies, so that the map survives as many failed dies as the data do. A copy
//! whose die has failed has its home on a die behind those of the others.

use base::archive::{Archive, State};
use base::{Error, Result};
use nand::geometry::Die;

/// Copies of all pages of a map, and their homes.
#[derive(Clone)]
pub(super) struct Copies {
    /// Pages of the map.
    pages: u32,
    /// Copies of each page.
    each: u32,
    /// Homes of each die, and of all dies.
    groups: u32,
    homes: u32,
    /// Shares of its pages that a home has room for.
    room: u32,
    /// Dies that have failed.
    lost: Vec<u32>,
    /// Copies that are to be written at a new home, the next one last.
    moving: Vec<u32>,
}

impl State for Copies {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { pages: _, each: _, groups: _, homes: _, room: _, lost, moving } = self;
        archive.value(lost)?;
        archive.value(moving)
    }
}

impl Copies {
    /// Copies of each page of the map of a drive with so many pages of parity in a stripe.
    pub(super) fn of_each(parity: u32) -> u32 {
        parity + 1
    }

    /// Shares of its pages that a home has room for: failed dies leave theirs to the others. Twice
    /// as many dies may fail as stripes survive at once.
    pub(super) fn shares(parity: u32) -> u32 {
        Self::of_each(parity) + 2 * parity
    }

    /// Copies of `pages` pages, over `homes` homes with `groups` on each die.
    pub(super) fn new(pages: u32, parity: u32, (homes, groups): (u32, u32)) -> Self {
        let (each, room) = (Self::of_each(parity), Self::shares(parity));
        Self { pages, each, groups, homes, room, lost: Vec::new(), moving: Vec::new() }
    }

    /// Copies of all pages.
    pub(super) fn all(&self) -> u32 {
        self.pages * self.each
    }

    /// Page of the map that a copy is of.
    #[inline]
    pub(super) fn page(&self, copy: u32) -> u32 {
        if self.each == 1 { copy } else { copy % self.pages }
    }

    /// Copies of a page.
    #[inline]
    pub(super) fn of_page(&self, page: u32) -> impl Iterator<Item = u32> + use<> {
        let pages = self.pages;
        (0..self.each).map(move |number| page + number * pages)
    }

    /// Home of a copy.
    #[inline]
    pub(super) fn home(&self, copy: u32) -> u32 {
        if self.each == 1 {
            return copy % self.homes;
        }
        self.home_among(copy % self.pages, copy / self.pages, &self.lost)
    }

    /// Home of a copy of a page, where these dies have failed: that of its number, or the next one
    /// behind those of all copies that no other has.
    fn home_among(&self, page: u32, number: u32, lost: &[u32]) -> u32 {
        let at = |turn: u32| (page % self.homes + turn * self.groups) % self.homes;
        let is_lost = |home: u32| lost.contains(&(home / self.groups));
        if !is_lost(at(number)) {
            return at(number);
        }
        let before = (0..number).filter(|&other| is_lost(at(other))).count();
        let dies = self.homes / self.groups;
        let mut left = (self.each..dies).map(at).filter(|&home| !is_lost(home));
        left.nth(before).unwrap_or(at(number))
    }

    /// Whether the die of a home has failed.
    #[inline]
    pub(super) fn is_lost(&self, die: Die) -> bool {
        self.lost.contains(&die.0)
    }

    /// Refuses the failure of a die without which the copies have no room on different dies.
    pub(super) fn can_lose(&self, die: Die) -> Result<()> {
        let lost: Vec<u32> = self.lost.iter().copied().chain([die.0]).collect();
        let mut shares = vec![0; self.homes as usize];
        for page in 0..self.homes {
            for number in 0..self.each {
                shares[self.home_among(page, number, &lost) as usize] += 1;
            }
        }
        let on_lost = (0..self.homes)
            .any(|home| lost.contains(&(home / self.groups)) && shares[home as usize] > 0);
        if !on_lost && shares.iter().all(|&shares| shares <= self.room) {
            return Ok(());
        }
        let problem = format!(
            "die {}: the other dies have no room for {} copies of the map",
            die.0, self.each
        );
        Err(Error::new("fail_die", problem).hint("use more dies, or an FTL with its map in memory"))
    }

    /// A die has failed: copies go to other homes.
    pub(super) fn lose(&mut self, die: Die) {
        self.lost.push(die.0);
    }

    /// Notes copies that are to be written at new homes.
    pub(super) fn note_moving(&mut self, copies: impl Iterator<Item = u32>) {
        self.moving.extend(copies);
    }

    /// Next copy that is to be written at a new home.
    pub(super) fn next_moving(&mut self) -> Option<u32> {
        self.moving.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever dies fail one after the other, as long as there are enough, the copies of a page
    /// stand on different dies that are left, and a copy whose die is there stays.
    #[test]
    fn copies_stand_on_different_dies() {
        for (dies, groups, parity) in [(4u32, 1u32, 1u32), (4, 2, 1), (6, 2, 2), (5, 1, 0)] {
            let homes = dies * groups;
            let mut copies = Copies::new(4 * homes + 3, parity, (homes, groups));
            for die in [1, 2, 0].into_iter().take((dies - parity - 1) as usize) {
                let before: Vec<u32> = (0..copies.all()).map(|copy| copies.home(copy)).collect();
                if copies.can_lose(Die(die)).is_err() {
                    break;
                }
                copies.lose(Die(die));
                for page in 0..4 * homes + 3 {
                    let at = copies.of_page(page).map(|copy| copies.home(copy) / groups);
                    let mut at: Vec<u32> = at.collect();
                    assert!(!at.iter().any(|&die| copies.is_lost(Die(die))), "{at:?}");
                    at.sort_unstable();
                    at.dedup();
                    assert_eq!(at.len() as u32, parity + 1);
                }
                let moved = (0..copies.all())
                    .zip(&before)
                    .filter(|(copy, home)| copies.home(*copy) != **home && **home / groups != die);
                // Losing a die after one before it may shift a copy by one die more.
                assert!(copies.lost.len() > 1 || moved.count() == 0);
            }
            assert!(parity == 0 || !copies.lost.is_empty());
        }
    }

    /// A drive with as many dies as copies cannot lose one.
    #[test]
    fn too_few_dies_are_refused() {
        let copies = Copies::new(100, 1, (2, 1));
        assert!(copies.can_lose(Die(0)).is_err());
    }
}
