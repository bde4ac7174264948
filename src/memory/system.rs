//! The memory of the host, as the operating system reports it, and within the limits of its control groups, in which
//! containers and the jobs of a cluster run.
//!
//! # Safety
//! The calls into the system write only to memory of the caller, whose size they know.
#![cfg_attr(not(target_os = "linux"), allow(unsafe_code))]

/// Memory in bytes; a value is 0 if the system does not report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    pub total: u64,
    pub available: u64,
    /// The memory that an allocation can have at most, with swap space; none if the system itself refuses an allocation for
    /// which it has no memory.
    pub most: Option<u64>,
}

/// Returns the memory of the host now.
#[cfg(target_os = "linux")]
pub(crate) fn memory() -> Memory {
    linux::memory("/proc".as_ref(), "/sys/fs/cgroup".as_ref())
}

#[cfg(windows)]
pub(crate) fn memory() -> Memory {
    use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};
    let mut status = MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..Default::default() };
    // SAFETY: the struct is the caller's own, and says its size.
    let known = unsafe { GlobalMemoryStatusEx(&mut status) } != 0;
    if known {
        Memory { total: status.ullTotalPhys, available: status.ullAvailPhys, most: None }
    } else {
        Memory::default()
    }
}

#[cfg(target_os = "macos")]
pub(crate) fn memory() -> Memory {
    let mut total = [0; size_of::<u64>()];
    let known = system_value(c"hw.memsize", &mut total) == Some(total.len());
    Memory { total: if known { u64::from_ne_bytes(total) } else { 0 }, ..Memory::default() }
}

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
pub(crate) fn memory() -> Memory {
    Memory::default()
}

/// Reads a system value by its name, and returns its length in bytes; `None` if there is no such value, or if it does not
/// fit.
#[cfg(target_os = "macos")]
pub(crate) fn system_value(name: &std::ffi::CStr, value: &mut [u8]) -> Option<usize> {
    let mut length = value.len();
    // SAFETY: the name ends with NUL, and the system writes at most `length` bytes, which are the caller's own.
    let status =
        unsafe { libc::sysctlbyname(name.as_ptr(), value.as_mut_ptr().cast(), &mut length, std::ptr::null_mut(), 0) };
    (status == 0 && length <= value.len()).then_some(length)
}

#[cfg(target_os = "linux")]
mod linux {
    use super::Memory;
    use std::fs::read_to_string;
    use std::path::Path;

    /// The files of a control group, of version 2 and of version 1: the limit, the memory in use, and the names of what the
    /// system can take back from that, cached files, in `memory.stat`.
    const FILES: [(&str, &str, [&str; 2]); 2] = [
        ("memory.max", "memory.current", ["active_file", "inactive_file"]),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", ["total_active_file", "total_inactive_file"]),
    ];

    /// Returns the memory as the files in `proc` and `groups` say.
    pub(super) fn memory(proc: &Path, groups: &Path) -> Memory {
        let listed = read_to_string(proc.join("meminfo")).unwrap_or_default();
        let bytes = |key| value(&listed, key).map(|kib| kib.saturating_mul(1024));
        let (Some(total), Some(available)) = (bytes("MemTotal:"), bytes("MemAvailable:")) else {
            return Memory { total: bytes("MemTotal:").unwrap_or(0), ..Memory::default() };
        };
        let available = available.saturating_add(zfs_cache(proc)).min(total);
        let mut memory =
            Memory { total, available, most: Some(available.saturating_add(bytes("SwapFree:").unwrap_or(0))) };
        // A line is "number:controllers:path"; version 2 has no controllers.
        for line in read_to_string(proc.join("self/cgroup")).unwrap_or_default().lines() {
            let mut fields = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
            let (root, files) = match controllers {
                "" => (groups.to_owned(), FILES[0]),
                _ if controllers.split(',').any(|name| name == "memory") => (groups.join("memory"), FILES[1]),
                _ => continue,
            };
            // The limits of all groups above hold as well. A container may see only the root, as its own group.
            for group in Path::new(path.trim_start_matches('/')).ancestors() {
                if let Some((limit, left)) = limit(&root.join(group), files).filter(|(limit, _)| *limit < total) {
                    // The swap space of the group is not counted.
                    memory = Memory {
                        total: memory.total.min(limit),
                        available: memory.available.min(left),
                        most: memory.most.map(|most| most.min(left)),
                    };
                }
            }
        }
        memory
    }

    /// Returns the bytes of the cache of ZFS that the system can take back, which are not in `MemAvailable`.
    fn zfs_cache(proc: &Path) -> u64 {
        // A container may have a memory of its own, whose file is mounted there; the cache is that of the host.
        let mounts = read_to_string(proc.join("self/mountinfo")).unwrap_or_default();
        if mounts.contains(" /proc/meminfo ") {
            return 0;
        }
        let listed = read_to_string(proc.join("spl/kstat/zfs/arcstats")).unwrap_or_default();
        // A line is "name type value".
        let bytes = |key| -> u64 {
            let mut values = listed.lines().filter_map(|line| line.strip_prefix(key)?.split_whitespace().nth(1));
            values.next().and_then(|value| value.parse().ok()).unwrap_or(0)
        };
        bytes("size ").saturating_sub(bytes("c_min "))
    }

    /// Returns the limit of a control group and what is left of it. A group without a limit has none, or a number that is
    /// larger than any memory.
    fn limit(group: &Path, (limit, used, cached): (&str, &str, [&str; 2])) -> Option<(u64, u64)> {
        let read = |name| read_to_string(group.join(name)).unwrap_or_default();
        let limit: u64 = read(limit).trim().parse().ok()?;
        let used: u64 = read(used).trim().parse().unwrap_or(0);
        let listed = read("memory.stat");
        let cached: u64 = cached.iter().filter_map(|key| value(&listed, key)).sum();
        Some((limit, limit.saturating_sub(used.saturating_sub(cached))))
    }

    /// Returns the number that follows a word at the beginning of a line.
    fn value(listed: &str, key: &str) -> Option<u64> {
        listed.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            if words.next() == Some(key) { words.next()?.parse().ok() } else { None }
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        const GIB: u64 = 1 << 30;

        /// Returns the memory as files with these contents say.
        fn of(files: &[(&str, String)]) -> Memory {
            let folder = tempfile::tempdir().unwrap();
            for (name, text) in files {
                let path = folder.path().join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            memory(&folder.path().join("proc"), &folder.path().join("groups"))
        }

        fn meminfo() -> (&'static str, String) {
            let kib = |gib: u64| gib * GIB / 1024;
            let swap = kib(2);
            ("proc/meminfo", format!("MemTotal: {} kB\nMemAvailable: {} kB\nSwapFree: {swap} kB\n", kib(16), kib(10)))
        }

        #[test]
        fn a_host_without_limits_has_its_memory_and_swap_space() {
            let whole = Memory { total: 16 * GIB, available: 10 * GIB, most: Some(12 * GIB) };
            assert_eq!(of(&[meminfo()]), whole);
            let unlimited = [
                meminfo(),
                ("proc/self/cgroup", "4:cpu,memory:/job\n0::/job\n".into()),
                ("groups/job/memory.max", "max\n".into()),
                ("groups/memory/job/memory.limit_in_bytes", "9223372036854771712\n".into()),
            ];
            assert_eq!(of(&unlimited), whole);
            assert_eq!(of(&[]), Memory::default());
            let cache = format!("name type data\nhits 4 1\nc_min 4 {GIB}\nsize 4 {}\n", 4 * GIB);
            let with_cache = [meminfo(), ("proc/spl/kstat/zfs/arcstats", cache)];
            assert_eq!(of(&with_cache), Memory { total: 16 * GIB, available: 13 * GIB, most: Some(15 * GIB) });
            let mount = ("proc/self/mountinfo", "36 35 0:5 /meminfo /proc/meminfo rw - fuse.lxcfs lxcfs rw\n".into());
            assert_eq!(of(&[with_cache.as_slice(), &[mount]].concat()), whole);
            let unknown = ("proc/meminfo", "MemTotal: 1024 kB\nMemFree: 512 kB\n".into());
            assert_eq!(of(&[unknown]), Memory { total: 1 << 20, available: 0, most: None });
        }

        #[test]
        fn the_lowest_limit_of_all_groups_counts_without_cached_files() {
            for (lines, folder, [limit, used_name], prefix) in [
                ("0::/cluster/job\n", "groups", ["memory.max", "memory.current"], ""),
                (
                    "7:memory:/cluster/job\n1:cpu:/\n",
                    "groups/memory",
                    ["memory.limit_in_bytes", "memory.usage_in_bytes"],
                    "total_",
                ),
            ] {
                let [job, cluster] = ["cluster/job", "cluster"].map(|group| format!("{folder}/{group}"));
                let stat =
                    |cached: u64| format!("anon 5\n{prefix}active_file {cached}\n{prefix}inactive_file {cached}\n");
                // The group above has the higher limit, but less is left of it, and then the lower one.
                for (limits, used, left) in [([6, 8], [1, 7], 2), ([8, 6], [1, 5], 2), ([6, 8], [9, 7], 0)] {
                    let files = [
                        meminfo(),
                        ("proc/self/cgroup", lines.into()),
                        (&format!("{job}/{limit}"), (limits[0] * GIB).to_string()),
                        (&format!("{job}/{used_name}"), (used[0] * GIB).to_string()),
                        (&format!("{cluster}/{limit}"), (limits[1] * GIB).to_string()),
                        (&format!("{cluster}/{used_name}"), (used[1] * GIB).to_string()),
                        (&format!("{cluster}/memory.stat"), stat(GIB / 2)),
                    ];
                    let left = left * GIB;
                    let wanted = Memory { total: 6 * GIB, available: left, most: Some(left) };
                    assert_eq!(of(&files), wanted, "{folder} {limits:?}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_host_has_memory() {
        let memory = super::memory();
        assert!(memory.total > 0 && memory.available <= memory.total, "{memory:?}");
    }
}
