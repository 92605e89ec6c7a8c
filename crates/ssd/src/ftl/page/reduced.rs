//! Reduced levels of `page`: host streams of data that live shortly, whose blocks are programmed
//! with smaller margins (`ftl.reduced_streams`).
//!
//! The levels of a block are chosen when it is opened: by its stream. Collection writes to blocks
//! of its own, at full levels, so what outlives its block, or is refreshed, leaves reduced levels
//! for good. After a power cut the tag of a block names its stream, and so its levels.

use super::PageParams;
use base::{Error, Result};
use nand::chip::BlockMode;
use nand::geometry::Block;

/// Streams and blocks with reduced levels.
#[derive(Clone)]
pub(super) struct Reduced {
    /// Streams of the host, as bits.
    streams: u32,
    /// By block: it was opened for one of them. Empty where no stream has reduced levels.
    pub(super) blocks: Vec<bool>,
}

impl Reduced {
    /// Streams that `params` name, of a drive with `host_streams` of them and so many blocks.
    pub(super) fn new(params: &PageParams, host_streams: u8, blocks: u32) -> Result<Self> {
        let mut streams = 0;
        for &stream in &params.reduced_streams {
            if stream >= host_streams {
                return Err(Error::new("ftl.reduced_streams", format!("stream {stream}"))
                    .expected(format!("below ftl.host_streams, {host_streams}")));
            }
            streams |= 1 << stream;
        }
        let blocks = if streams == 0 { 0 } else { blocks as usize };
        Ok(Self { streams, blocks: vec![false; blocks] })
    }

    /// Mode in which the blocks of a stream are programmed; streams behind those of the host have
    /// full levels.
    #[inline]
    pub(super) fn mode_of_stream(&self, stream: u32) -> BlockMode {
        match self.streams.checked_shr(stream) {
            Some(streams) if streams & 1 != 0 => BlockMode::Reduced,
            _ => BlockMode::Native,
        }
    }

    /// Notes that a block belongs to a stream from now on.
    #[inline]
    pub(super) fn opened(&mut self, block: Block, stream: u32) {
        if !self.blocks.is_empty() {
            let is_reduced = self.mode_of_stream(stream) == BlockMode::Reduced;
            self.blocks[block.0 as usize] = is_reduced;
        }
    }

    /// Mode of a block in use.
    #[inline]
    pub(super) fn mode(&self, block: Block) -> BlockMode {
        match self.blocks.get(block.0 as usize) {
            Some(true) => BlockMode::Reduced,
            _ => BlockMode::Native,
        }
    }
}
