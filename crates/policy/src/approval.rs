//! Decides whether a call that the grant allows runs at once, needs a person, or may not run.

use posse_protocol::{Approval, Shell};

use crate::decide::Decision;
use crate::destroys::destroys;
use crate::paths::clean_path;
use crate::pattern::literal;
use crate::rules::{LEAVE, OBEYED, Rules, outside};
use crate::wish::{Act, Wish};
use crate::{address, own_name};

/// Whether undo could restore what a call destroys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undo {
    /// It could, or the call can change nothing.
    #[default]
    Holds,
    /// Not all of it.
    Fails,
}

/// [`judge_with`] where undo holds.
pub fn judge(approval: Approval, rules: &Rules, wish: &Wish<'_>) -> Decision {
    judge_with(approval, rules, wish, Undo::Holds)
}

/// Decides whether a call may run under an approval mode and the person's rules, in this order: a `deny` rule denies it; the
/// mode may forbid it; an earlier yes of the person allows it; an `ask` rule asks; an `allow` rule spares the question that
/// the mode would ask.
///
/// Rules speak of commands outside the sandbox as `leave(…)`, and of notes for all projects as `leave:remember(…)`:
/// allowing a tool does not allow it there. They speak of files that other programs run or obey by themselves as
/// `obeyed(…)`, word for word: nothing else spares that question.
///
/// If undo does not cover what a command seems to destroy, it asks in mode auto too. Only a rule that names the very command
/// spares that question.
pub fn judge_with(approval: Approval, rules: &Rules, wish: &Wish<'_>, undo: Undo) -> Decision {
    if let Some(rule) = rules.denies(wish) {
        return Decision::Deny(format!(
            "the rule \"deny {rule}\" forbids this; do not try it another way, go on without it or say what is missing"
        ));
    }
    let by_mode = by_mode(approval, wish.act);
    if let Decision::Deny(_) = by_mode {
        return by_mode;
    }
    if rules.is_answered(wish) {
        return Decision::Allow;
    }
    if let Some(rule) = rules.asks(wish) {
        return Decision::Ask(format!("the rule \"ask {rule}\" is about it"));
    }
    if let Some(why) = destroys_for_good(approval, wish, undo).filter(|_| !rules.names(wish)) {
        return Decision::Ask(format!("undo does not hold here, and in mode auto what {why} asks first"));
    }
    match by_mode {
        Decision::Ask(_) if rules.allows(wish) => Decision::Allow,
        decision => decision,
    }
}

/// Why a command would destroy something that nobody could bring back, where that asks.
fn destroys_for_good(approval: Approval, wish: &Wish<'_>, undo: Undo) -> Option<&'static str> {
    let asks = undo == Undo::Fails && approval == Approval::Auto && matches!(wish.act, Act::Command(_));
    asks.then(|| destroys(wish.what)).flatten()
}

fn by_mode(approval: Approval, act: Act) -> Decision {
    let ask = |mode: &str, what: &str| Decision::Ask(format!("in mode {mode}, {what} asks first"));
    match (approval, act) {
        (_, Act::Read) | (Approval::Full, _) => Decision::Allow,
        (Approval::Plan, Act::Command(level)) if level <= Shell::Inspect => Decision::Allow,
        (Approval::Plan, _) => Decision::Deny(
            "plan mode: nothing is written and nothing outside is reached; put what you would do into your answer"
                .to_owned(),
        ),
        (_, Act::Obeyed(program)) => Decision::Ask(format!(
            "{program} acts on this by itself, so writing it asks in every mode but full"
        )),
        (Approval::Edit | Approval::Auto, Act::Edit) => Decision::Allow,
        (Approval::Auto, Act::Command(_) | Act::Network) => Decision::Allow,
        (Approval::Auto, Act::Outside { destroys: false }) => Decision::Allow,
        (Approval::Auto, Act::Outside { destroys: true }) => {
            ask("auto", "a tool whose server says that it destroys something")
        }
        (Approval::Auto, Act::Leave) => ask("auto", "leaving the sandbox"),
        (Approval::Edit, act) => ask("edit", doing(act)),
        (Approval::Ask, act) => ask("ask", doing(act)),
    }
}

fn doing(act: Act) -> &'static str {
    match act {
        Act::Read => "reading",
        Act::Edit | Act::Obeyed(_) => "changing a file",
        Act::Command(_) => "running a command",
        Act::Network => "using the network",
        Act::Outside { .. } => "calling a tool of a server",
        Act::Leave => "leaving the sandbox",
    }
}

/// What "for this pattern" allows from now on: the folder of a file, the host of an address, the very same command.
pub fn pattern_for(wish: &Wish<'_>) -> String {
    let Wish { tool, what, act } = *wish;
    let ours = own_name(tool);
    let leaves = outside(wish);
    if let Act::Obeyed(_) = act {
        return format!("{OBEYED}({})", literal(what));
    }
    if leaves.is_some() || matches!(act, Act::Command(_)) || ours == Some("shell") {
        let tool = leaves.as_deref().unwrap_or(tool);
        // A lone `*` would be every command.
        return if what == "*" { format!("{tool}(\\*)") } else { format!("{tool}({what})") };
    }
    if what.is_empty() || matches!(act, Act::Outside { .. }) {
        return tool.to_owned();
    }
    if let Some(host) = address::host(what).filter(|_| ours == Some("web_fetch")) {
        return format!("{tool}({host})");
    }
    let path = clean_path(what).filter(|_| matches!(act, Act::Read | Act::Edit));
    match path.as_deref().and_then(|path| path.rsplit_once('/')) {
        Some((folder, _)) => format!("{tool}({folder}/*)"),
        None => format!("{tool}({})", literal(what)),
    }
}

/// What "for this session" allows from now on: every call of the tool, on its side of the sandbox. Of what other programs
/// act on by themselves only the very same file; of notes for all projects, which last, only the very same.
pub fn session_pattern(wish: &Wish<'_>) -> String {
    match outside(wish) {
        _ if matches!(wish.act, Act::Obeyed(_)) => pattern_for(wish),
        Some(name) if name == LEAVE => name,
        Some(_) => pattern_for(wish),
        None => wish.tool.to_owned(),
    }
}
