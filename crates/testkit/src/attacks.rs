//! The attempts that Posse has to withstand, read from the tables in `attacks/`: one attempt a line. Pure: who makes
//! the attempts, and in what world, is the tests' business.

use std::collections::BTreeSet;

/// What stands between two columns. The last column may hold it, since pipes are what shell commands are made of.
const BETWEEN: &str = " | ";

/// One attempt that is made by a call.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// Its name, unique in its table.
    pub name: &'static str,
    /// What its table says of it: a level, a tool, a listener or a control.
    pub kind: &'static str,
    /// What is run before it, unconfined.
    pub set_up: Option<&'static str>,
    /// The command, or a tool's arguments.
    pub attack: &'static str,
}

/// Attempts on files that are not granted.
pub fn files() -> Vec<Attempt> {
    attempts(include_str!("../attacks/files.txt"))
}

/// Attempts on protected names, and by way of git.
pub fn protected() -> Vec<Attempt> {
    attempts(include_str!("../attacks/protected.txt"))
}

/// Attempts on the machine itself.
pub fn system() -> Vec<Attempt> {
    attempts(include_str!("../attacks/system.txt"))
}

/// Attempts by arguments of file tools.
pub fn tools() -> Vec<Attempt> {
    attempts(include_str!("../attacks/tools.txt"))
}

/// Attempts to read what is hidden in the workspace.
pub fn hidden() -> Vec<Attempt> {
    attempts(include_str!("../attacks/hidden.txt"))
}

/// Attempts to reach anything without a network.
pub fn network() -> Vec<Attempt> {
    attempts(include_str!("../attacks/network.txt"))
}

/// Attempts to reach the socket of the Posse that runs them.
pub fn own_socket() -> Vec<Attempt> {
    commands(include_str!("../attacks/own_socket.txt"))
}

/// Attempts on Posse and on the kernel.
pub fn privilege() -> Vec<Attempt> {
    attempts(include_str!("../attacks/privilege.txt"))
}

/// Commands that never end by themselves.
pub fn hang() -> Vec<Attempt> {
    commands(include_str!("../attacks/hang.txt"))
}

/// What is done so that taking it back does harm.
pub fn undo() -> Vec<Attempt> {
    commands(include_str!("../attacks/undo.txt"))
}

/// Paths that other programs run or obey by themselves.
pub fn later() -> Vec<Attempt> {
    commands(include_str!("../attacks/later.txt"))
}

/// Commands that destroy what undo does not bring back.
pub fn destroy() -> Vec<Attempt> {
    commands(include_str!("../attacks/destroy.txt"))
}

/// Keys that are typed before a question: name, keys.
pub fn typed() -> Vec<(&'static str, String)> {
    let rows = rows::<2>(include_str!("../attacks/typed.txt"));
    let keys = |keys: &str| {
        keys.replace("\\n", "\n").replace("\\r", "\r").replace("\\e", "\u{1b}").replace("\\t", "\t")
    };
    rows.map(|[name, typed]| (name, keys(typed))).collect()
}

/// Something that is done so that a command which a person has let out does harm the next time.
#[derive(Clone, Copy, Debug)]
pub struct Leave {
    /// Its name.
    pub name: &'static str,
    /// More of Posse's environment, name and value.
    pub environment: Option<&'static str>,
    /// What is run before all, unconfined.
    pub set_up: Option<&'static str>,
    /// What the agent does inside the sandbox.
    pub attempt: &'static str,
    /// What the person answers when they are asked again.
    pub answer: &'static str,
    /// The command that was let out.
    pub command: &'static str,
}

/// What is done after a person has let a command out.
pub fn leave() -> Vec<Leave> {
    let rows = rows::<6>(include_str!("../attacks/leave.txt"));
    rows.map(|[name, environment, set_up, attempt, answer, command]| Leave {
        name,
        environment: given(environment),
        set_up: given(set_up),
        attempt,
        answer,
        command,
    })
    .collect()
}

/// Attempts of an agent with a checkout of its own.
pub fn apart() -> Vec<Attempt> {
    commands(include_str!("../attacks/apart.txt"))
}

/// Commands that leave something behind: name, command.
pub fn orphans() -> Vec<Attempt> {
    let rows = rows::<2>(include_str!("../attacks/orphans.txt"));
    rows.map(|[name, attack]| Attempt { name, kind: "", set_up: None, attack }).collect()
}

/// A repository that wants to act.
#[derive(Clone, Copy, Debug)]
pub struct HostileRepository {
    /// Its name.
    pub name: &'static str,
    /// A command by which its trap goes off where nobody takes care.
    pub control: Option<&'static str>,
    /// What makes it hostile.
    pub set_up: &'static str,
}

/// Hostile repositories.
pub fn repositories() -> Vec<HostileRepository> {
    let rows = rows::<3>(include_str!("../attacks/repositories.txt"));
    rows.map(|[name, control, set_up]| HostileRepository { name, control: given(control), set_up }).collect()
}

/// Something planted for a program that Posse starts on its own account.
#[derive(Clone, Copy, Debug)]
pub struct Plant {
    /// Its name.
    pub name: &'static str,
    /// More of Posse's environment, name and value.
    pub environment: Option<&'static str>,
    /// A command by which it does its damage where nobody takes care.
    pub control: Option<&'static str>,
    /// What plants it.
    pub set_up: &'static str,
}

/// Plants for programs of Posse's own.
pub fn helpers() -> Vec<Plant> {
    let rows = rows::<4>(include_str!("../attacks/helpers.txt"));
    rows.map(|[name, environment, control, set_up]| Plant {
        name,
        environment: given(environment),
        control: given(control),
        set_up,
    })
    .collect()
}

/// A secret in somebody's environment.
#[derive(Clone, Debug)]
pub struct Secret {
    /// The name of its shape.
    pub name: &'static str,
    /// The variable it is in.
    pub variable: &'static str,
    /// The whole of it.
    pub text: String,
    /// The parts of it that nobody may see.
    pub cores: Vec<String>,
}

/// One secret of each shape. The same seed gives the same secrets.
pub fn secrets(seed: u64) -> Vec<Secret> {
    let mut random = Random(seed | 1);
    let rows = rows::<3>(include_str!("../attacks/secrets.txt"));
    rows.map(|[name, variable, shape]| {
        let (text, cores) = draw(shape, &mut random);
        Secret { name, variable, text, cores }
    })
    .collect()
}

/// Parts shorter than this are no secret by themselves.
const CORE_CHARS_MIN: usize = 12;

/// Fills a shape in.
fn draw(shape: &str, random: &mut Random) -> (String, Vec<String>) {
    let (mut text, mut cores, mut rest) = (String::new(), Vec::new(), shape);
    while let Some((before, after)) = rest.split_once('@') {
        text.push_str(before);
        let hole = after.split_once('@').and_then(|(hole, after)| {
            let letters = match hole.as_bytes().first()? {
                b'a' => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                b'u' => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
                b'x' => "0123456789abcdef",
                b'n' => "0123456789",
                _ => return None,
            };
            Some((letters, hole[1..].parse::<usize>().ok()?, after))
        });
        let Some((letters, count, after)) = hole else {
            text.push('@');
            rest = after;
            continue;
        };
        let core: String = (0..count).map(|_| random.letter(letters)).collect();
        text.push_str(&core);
        cores.extend((count >= CORE_CHARS_MIN).then_some(core));
        rest = after;
    }
    text.push_str(rest);
    (text.replace("\\n", "\n"), cores)
}

/// Xorshift: enough for letters that nobody else has.
struct Random(u64);

impl Random {
    fn letter(&mut self, letters: &str) -> char {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let at = (self.0 >> 16) as usize % letters.len();
        char::from(letters.as_bytes()[at])
    }
}

fn attempts(table: &'static str) -> Vec<Attempt> {
    let rows = rows::<4>(table);
    rows.map(|[name, kind, set_up, attack]| Attempt { name, kind, set_up: given(set_up), attack }).collect()
}

/// Tables of commands that are all of one kind: name, set-up, command.
fn commands(table: &'static str) -> Vec<Attempt> {
    let rows = rows::<3>(table);
    rows.map(|[name, set_up, attack]| Attempt { name, kind: "all", set_up: given(set_up), attack }).collect()
}

fn given(column: &'static str) -> Option<&'static str> {
    (column != "-").then_some(column)
}

/// The lines of a table, each with this many columns.
///
/// # Panics
/// If a line has fewer, or a name comes twice: an attempt that is not read is one that is not made.
fn rows<const N: usize>(table: &'static str) -> impl Iterator<Item = [&'static str; N]> {
    let lines = table.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut names = BTreeSet::new();
    lines.map(move |line| {
        let columns: Vec<&str> = line.splitn(N, BETWEEN).collect();
        assert!(names.insert(columns[0]), "the name comes twice: {line}");
        columns.try_into().unwrap_or_else(|_| panic!("a line needs {N} columns: {line}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_read_whole() {
        let counts = [
            ("files", files().len(), 206),
            ("protected", protected().len(), 86),
            ("system", system().len(), 63),
            ("tools", tools().len(), 88),
            ("hidden", hidden().len(), 73),
            ("network", network().len(), 66),
            ("own_socket", own_socket().len(), 27),
            ("privilege", privilege().len(), 72),
            ("hang", hang().len(), 48),
            ("undo", undo().len(), 26),
            ("apart", apart().len(), 29),
            ("later", later().len(), 246),
            ("destroy", destroy().len(), 71),
            ("leave", leave().len(), 26),
            ("typed", typed().len(), 16),
            ("orphans", orphans().len(), 22),
            ("repositories", repositories().len(), 55),
            ("helpers", helpers().len(), 81),
            ("secrets", secrets(1).len(), 49),
        ];
        for (name, count, committed) in counts {
            assert!(count >= committed, "{name}: {count} of {committed}");
        }
    }

    #[test]
    fn shapes_are_filled_in() {
        let (text, cores) = draw("k-@a12@\\n@n3@@host", &mut Random(7));
        assert_eq!((text.len(), cores.len(), cores[0].len()), (2 + 12 + 1 + 3 + 5, 1, 12));
        assert!(text.starts_with(&format!("k-{}\n", cores[0])) && text.ends_with("@host"), "{text}");
        assert!(secrets(3).iter().all(|secret| !secret.cores.is_empty()), "each holds something to look for");
        assert_eq!(secrets(3)[0].text, secrets(3)[0].text);
        assert_ne!(secrets(3)[0].text, secrets(5)[0].text);
    }
}
