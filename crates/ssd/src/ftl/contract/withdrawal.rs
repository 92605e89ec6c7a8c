//! Withdrawal of a die: its data go to others, so that its chip can be replaced.

use base::Result;
use nand::geometry::Die;

/// An FTL that can give a die back.
///
/// Promises to the controller: from `withdraw` to `replace` no data are placed on the die, what it
/// holds stays readable until it is moved or rewritten, and the job of the die moves it: the job
/// has work as long as the die `holds_data`. It erases nothing there. The room that collection of
/// other dies needs is left to them.
///
/// The controller promises: one die at a time is withdrawn, after `can_withdraw` has agreed, and it
/// is replaced when it holds no data and no command to it is under way.
pub trait Withdrawal {
    /// Refuses where the other dies have no room for all logical units, or where a chip with these
    /// blocks `bad`, listed for the die, would be too small.
    fn can_withdraw(&mut self, die: Die, bad: &[bool]) -> Result<()>;

    /// Places no more data on a die.
    fn withdraw(&mut self, die: Die);

    /// Whether a withdrawn die holds the newest data of a unit (slow).
    fn holds_data(&mut self, die: Die) -> bool;

    /// Takes a die back, which has a new chip with these blocks `bad`; all others are erased, after
    /// `pe_cycles` cycles. The die takes data again.
    fn replace(&mut self, die: Die, bad: &[bool], pe_cycles: u32);
}
