//! Namespace of a job: the part of the drive that its `filename` names, as on Linux.

use crate::fio::file::Target;
use crate::fio::plan::Given;
use base::{Error, Result};
use ssd::config::NamespacePart;

/// Number of the namespace that the name of a device ends in: `/dev/nvme0n2` and `/dev/ng0n2`.
fn number(filename: &str) -> Option<usize> {
    let name = filename.strip_prefix("/dev/").unwrap_or(filename);
    let (controller, number) =
        name.strip_prefix("nvme").or(name.strip_prefix("ng"))?.split_once('n')?;
    controller.parse::<u32>().ok()?;
    number.parse().ok()
}

/// Part of the drive that a job sees: the whole of one without namespaces. Refuses a job that names
/// no namespace, and what a namespace does not take.
pub fn part_of(given: &Given, place: &str, target: &Target) -> Result<NamespacePart> {
    let parts = &target.namespaces;
    if parts.is_empty() {
        return Ok(NamespacePart::whole(target.capacity_bytes));
    }
    let options = &given.options;
    let line = |name: &str| given.lines.get(name).or(given.lines.get("job")).copied().unwrap_or(1);
    let at = |name: &str| format!("{place}:{}", line(name));
    let devices = format!("/dev/nvme0n1 to /dev/nvme0n{}", parts.len());
    let filename = options.filename.as_deref().unwrap_or_default();
    let part = number(filename).and_then(|number| parts.get(number.checked_sub(1)?));
    let Some(part) = part else {
        let problem = match filename {
            "" => "filename: the drive has namespaces, and the job names none".to_owned(),
            name => format!("filename: `{name}` is no namespace of the drive"),
        };
        return Err(Error::new(at("filename"), problem).expected(devices));
    };
    let block = u64::from(part.block_bytes);
    let sizes = options.bs.iter().flatten().chain(options.blockalign.iter().flatten());
    if let Some(bytes) = sizes.copied().find(|bytes| !bytes.is_multiple_of(block)) {
        let problem = format!("bs: {bytes} bytes on a namespace with blocks of {block}");
        return Err(Error::new(at("bs"), problem).expected(format!("multiples of {block} bytes")));
    }
    Ok(part.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::parse;
    use base::error::assert_carries;
    use std::path::Path;

    #[test]
    fn devices_are_named_as_on_linux() {
        let named = ["/dev/nvme0n2", "/dev/ng1n2", "nvme0n2"];
        assert!(named.into_iter().all(|name| number(name) == Some(2)));
        let others =
            ["/dev/sdb", "/dev/nvme0", "/dev/nvme0n1p2", "/dev/nvme0n1:/dev/nvme0n2", "n2"];
        assert!(others.into_iter().all(|name| number(name).is_none()));
    }

    #[test]
    fn a_job_works_on_its_namespace() {
        let part = |bytes, block_bytes| NamespacePart { bytes, block_bytes };
        let namespaces = vec![part(0..1 << 20, 512), part(1 << 20..3 << 20, 4096)];
        let target = Target { namespaces, ..Target::new(3 << 20, 1) };
        let places = |text: &str| {
            let mut jobs = parse(text, "job.fio", Path::new(""), &target)?.jobs;
            let mut places = Vec::new();
            while let Some(arrival) = jobs[0].source.next(base::Time::ZERO)? {
                places.push(arrival.request.offset);
            }
            Ok::<_, Error>(places)
        };
        let mut second = places("[a]\nrw=randread\nbs=4k\nfilename=/dev/nvme0n2").unwrap();
        second.sort_unstable();
        assert_eq!(second, (256..768).map(|block| 4096 * block).collect::<Vec<_>>());
        let half = places("[a]\nfilename=nvme0n2\noffset=50%\nbs=1m").unwrap();
        assert_eq!(half, [2 << 20]);
        let refused = |text: &str, parts: &[&str]| {
            assert_carries(places(text).unwrap_err(), parts);
        };
        refused("[a]\nrw=read", &["job.fio:1", "filename", "/dev/nvme0n2"]);
        refused("[a]\nfilename=/dev/nvme0n3", &["job.fio:2", "nvme0n3"]);
        refused("[a]\nfilename=/dev/nvme0n0", &["nvme0n0"]);
        refused("[a]\nfilename=nvme0n2\nbs=512", &["job.fio:3", "512", "4096"]);
        refused("[a]\nfilename=nvme0n1\nsize=2m", &["size", "1 MiB"]);
    }
}
