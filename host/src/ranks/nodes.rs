//! Slurm's lists of hosts: `gpu[07-09,12],login`.

/// The first host of a list; `None` where it names none.
///
/// A bracket stands for each of the numbers in it, of which the first keeps its zeros; there may be several in a name.
pub(super) fn first_host(list: &str) -> Option<String> {
    let mut host = String::new();
    let mut rest = list.trim();
    while let Some(end) = rest.find(['[', ',']) {
        host.push_str(&rest[..end]);
        if rest[end..].starts_with(',') {
            rest = "";
            break;
        }
        let (numbers, after) = rest[end + 1..].split_once(']')?;
        let first = numbers.split([',', '-']).next().unwrap_or_default();
        if first.is_empty() || !first.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        host.push_str(first);
        rest = after;
    }
    host.push_str(rest);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    (!host.is_empty() && host.bytes().all(is_name)).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_host_is_the_first_of_each_bracket() {
        for (list, host) in [
            ("node1", "node1"),
            ("node1,node2", "node1"),
            ("node[1-4]", "node1"),
            ("node[007-012,100]", "node007"),
            ("node[3,5-7],other[1-2]", "node3"),
            ("login,node[1-2]", "login"),
            (
                "rack[2-3]n[04-06].cluster.example",
                "rack2n04.cluster.example",
            ),
            ("gpu-a[1]-ib0,x", "gpu-a1-ib0"),
            (" 10.0.0.1 ", "10.0.0.1"),
        ] {
            assert_eq!(first_host(list).as_deref(), Some(host), "{list}");
        }
    }

    #[test]
    fn what_names_no_host_has_none() {
        for list in [
            "", ",a", "a[", "a[1-2", "a[]", "a[x-y]", "a[-2]", "a b", "a;rm", "a]1[",
        ] {
            assert_eq!(first_host(list), None, "{list}");
        }
    }
}
