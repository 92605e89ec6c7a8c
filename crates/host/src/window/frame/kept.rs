//! Layers that are kept from one frame to the next, of drives that are looked at part by part.

use super::Data;
use super::layers::{self, LAYERS};
use super::scalars::View;

/// Data of each layer, as the last frame had them; empty where they are written anew.
#[derive(Default)]
pub(in crate::window) struct KeptLayers([Vec<u8>; LAYERS.len()]);

impl KeptLayers {
    /// Writes a layer: the cells whose turn it is anew, and the others as they are kept.
    pub fn write(&mut self, layer: usize, view: &View<'_>, data: &mut Data<'_>) {
        let (kept, layer, all) = (&mut self.0[layer], &LAYERS[layer], view.cells.all());
        if view.turn == all {
            kept.clear();
            return layers::write(layer, view, all, data);
        }
        let anew = if kept.is_empty() { all } else { view.turn.clone() };
        let at = anew.start as usize * layer.element.bytes();
        layers::write(layer, view, anew, &mut Data::from(kept, at));
        data.push(kept);
    }

    /// Forgets the layers that a frame did not have.
    pub fn forget_all_but(&mut self, wanted: u32) {
        for (bit, kept) in self.0.iter_mut().enumerate() {
            if wanted & 1 << bit == 0 {
                kept.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::window::tests::{built, ok, sections};
    use serde_json::json;

    /// Frames that look at a part of the blocks are whole after as many as have all of them: each
    /// block is as it was at its last turn, and a layer that is new has every block.
    #[test]
    fn a_frame_in_parts_becomes_the_whole_one() {
        const PART: u32 = 300;
        let (mut window, hello) = built(&json!({}), "fill");
        let layer = |name: &str| 1 << hello["layers"][name]["bit"].as_u64().unwrap();
        let two = layer("state") | layer("valid");
        let three = two | layer("cycles");
        let frame = |window: &mut crate::window::Window, layers, most_blocks| {
            let mut out = Vec::new();
            window.held.as_mut().unwrap().look().frame(layers, most_blocks, &mut out);
            let of_blocks = |id: &str| ["stat", "vald", "eras"].contains(&id);
            sections(&out).into_iter().filter(|(id, ..)| of_blocks(id)).collect::<Vec<_>>()
        };
        let step = json!({"method": "advance", "events": 500});
        while ok(&mut window, &step)["completed"] == 0 {}
        let before = frame(&mut window, two, Some(PART));
        while ok(&mut window, &step)["phase"] != "over" {}
        let turns = hello["geometry"]["blocks"].as_u64().unwrap().div_ceil(PART.into());
        let mut seen = Vec::new();
        for turn in 0..turns {
            seen = frame(&mut window, three, Some(PART));
            let states = seen[0].2.iter().zip(&before[0].2).filter(|(now, then)| now != then);
            assert!(turn > 0 || states.count() <= PART as usize);
        }
        let whole = frame(&mut window, three, None);
        assert!(seen == whole);
        assert!(seen[1] != before[1], "the job has changed what is valid");
        let first = frame(&mut window, three, Some(PART));
        assert!(first == whole);
    }
}
