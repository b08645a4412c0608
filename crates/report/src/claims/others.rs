//! Finds what prose says about commits and about sub-agents.

use super::{
    doubt,
    tokens::{Sentence, Token},
    words::{self, is},
};

/// What is said about commits and sub-agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Others {
    /// Whether something is said to have been committed.
    pub(crate) committed: bool,
    /// The ids that commits are said to have.
    pub(crate) ids: Vec<String>,
    /// Whether something is said to have been pushed.
    pub(crate) pushed: bool,
    /// Whether sub-agents are said to have worked.
    pub(crate) delegated: bool,
}

const COMMITTED: &str = "committed commited committet commitet eingecheckt";
const HANDS_ON: &str = "delegated spawned launched dispatched delegiert beauftragt gestartet delegué delegado asked used started had";
const WORK: &str = "changes change work everything fix code all änderungen alles fix arbeit cambios";
const ROLES: &str = "\
    agent agents sub-agent sub-agents subagent subagents explorer explorers reviewer reviewers planner tester worker workers unter-agent \
    unteragent unteragenten unter-agenten sub-agenten subagenten agenten subagente subagentes";
const SUB_AGENT: &str = "sub-agent sub-agents subagent subagents unter-agent unteragent unteragenten sub-agenten subagenten subagente";
const AGENT_DEEDS: &str = "\
    confirmed approved reported found verified reviewed finished completed returned checked agreed agrees confirms implemented fixed tested \
    wrote bestätigt geprüft gefunden bestätigte abgeschlossen gemeldet freigegeben confirmó aprobó";

/// Adds what one sentence says.
pub(crate) fn read(sentence: &Sentence<'_>, others: &mut Others) {
    if sentence.asks_or_depends {
        return;
    }
    let tokens = &sentence.tokens;
    for at in 0..tokens.len() {
        let verb = &tokens[at];
        let (commits, pushes) = (verb.is_word_in(COMMITTED), verb.is_word_in("pushed gepusht"));
        let (commit, hands, agent) =
            (verb.is_word_in("commit"), verb.is_word_in(HANDS_ON), verb.is_word_in(SUB_AGENT));
        if !(commits || pushes || commit || hands || agent) || doubt::doubted(tokens, at) {
            continue;
        }
        let mine = || spoken(tokens, at) || of_work(tokens, at);
        if (commits && mine()) || (commit && commit_made(tokens, at)) {
            others.committed = true;
            others.ids.extend(id_after(tokens, at));
        }
        others.pushed |= pushes && mine() && !pushes_data(tokens, at);
        others.delegated |= (hands && hands_on(tokens, at)) || (agent && acts(tokens, at));
    }
    chinese(sentence, others);
}

/// Whether the speaker is the one who did it.
fn spoken(tokens: &[Token<'_>], at: usize) -> bool {
    let start = doubt::clause_start(tokens, at);
    let before = &tokens[start..at];
    let speaker = before.iter().any(|token| token.is_word_in("i i've we we've ich wir habe haben"));
    let all = before.iter().all(|token| token.is_word_in(words::LEADS) || token.is_word_in(words::SPEAKERS));
    speaker || all
}

/// "The changes have been committed", "Änderungen sind committet".
fn of_work(tokens: &[Token<'_>], at: usize) -> bool {
    let start = doubt::clause_start(tokens, at);
    let before = &tokens[start..at];
    let auxiliary = before.iter().any(|t| t.is_word_in("been is are was were wurde wurden ist sind"));
    let short = before.len() <= 8
        && !tokens[at..]
            .iter()
            .take(8)
            .any(|t| t.is_word_in("by before earlier previously ago last yesterday upstream von"));
    short
        && auxiliary
        && before.iter().any(|t| t.is_word_in(WORK))
        && !before.iter().any(|t| t.is_word_in("transaction"))
}

/// "Pushed the value onto the stack" is no push.
fn pushes_data(tokens: &[Token<'_>], at: usize) -> bool {
    tokens[at..]
        .iter()
        .take(8)
        .any(|t| t.is_word_in("stack queue vector list array onto back notification event state"))
}

/// "Created commit abc1234", "commit abc1234 created", "Commit erstellt".
fn commit_made(tokens: &[Token<'_>], at: usize) -> bool {
    let start = doubt::clause_start(tokens, at);
    let before = &tokens[start..at];
    let verb = before.iter().rposition(|t| t.is_word_in("created made added")).map(|verb| start + verb);
    let active = verb.is_some_and(|verb| at - verb <= 4 && spoken(tokens, verb));
    let german = before.len() <= 6
        && tokens[at + 1..].iter().take(3).any(|t| t.is_word_in("erstellt angelegt gemacht"));
    active || german
}

/// An abbreviated or full id of a commit in the next few words.
fn id_after(tokens: &[Token<'_>], at: usize) -> Option<String> {
    let near =
        tokens[at + 1..].iter().take(6).take_while(|token| !token.is_word_in("on from after based since to"));
    near.into_iter().find(|token| is_id(&token.lower)).map(|token| token.lower.clone())
}

fn is_id(word: &str) -> bool {
    (7..=40).contains(&word.len())
        && word.bytes().all(|b| b.is_ascii_hexdigit())
        && word.bytes().any(|b| b.is_ascii_digit())
        && word.bytes().any(|b| b.is_ascii_alphabetic())
}

/// "I delegated it to an explorer", "spawned two sub-agents".
fn hands_on(tokens: &[Token<'_>], at: usize) -> bool {
    let start = doubt::clause_start(tokens, at);
    let german = tokens[at].is_word_in("delegiert beauftragt gestartet");
    let near = if german { &tokens[start..at] } else { &tokens[at + 1..(at + 9).min(tokens.len())] };
    // Only the plain word for one is certain behind a verb that has other uses.
    let certain = tokens[at].is_word_in("delegated spawned delegiert delegué delegado dispatched");
    let roles = if certain { ROLES } else { SUB_AGENT };
    spoken(tokens, at) && near.iter().any(|token| is(roles, &token.lower))
}

/// "The sub-agent confirmed it", "Der Sub-Agent hat es bestätigt".
fn acts(tokens: &[Token<'_>], at: usize) -> bool {
    let start = doubt::clause_start(tokens, at);
    let alone = tokens[start..at].iter().all(|t| {
        t.is_word_in("the a my two three both all der die das ein mein el un")
            || t.lower.parse::<u32>().is_ok()
    });
    let after = &tokens[at + 1..(at + 7).min(tokens.len())];
    let deed = after.iter().position(|t| t.is_word_in(AGENT_DEEDS));
    alone && deed.is_some_and(|deed| !after[..deed].iter().any(|token| token.doubts))
}

fn chinese(sentence: &Sentence<'_>, others: &mut Others) {
    let masked = &sentence.masked;
    for clause in masked.split(['，', ',']) {
        // "提交" is among the words of doubt, because commits of others are told with it.
        let doubted = doubt::doubted_chinese(&clause.replace("提交", ""));
        if doubted || sentence.asks {
            continue;
        }
        if let Some((left, right)) = clause.split_once("提交") {
            let done = left.ends_with('已')
                || left.ends_with("已经")
                || right.starts_with('了')
                || right.starts_with("完成");
            let of_work = ["更改", "修改", "代码", "改动", "变更", "分支", "仓库", "main", "git", "commit"]
                .iter()
                .any(|word| clause.contains(word));
            let plain = right.is_empty() || right.starts_with("到") || right.starts_with("为");
            if done && (of_work || plain) && !clause.contains("报告") && !right.starts_with("了一份") {
                others.committed = true;
            }
        }
        let pushed =
            ["已推送", "推送到了", "推送了", "已经推送", "已push"].iter().any(|word| clause.contains(word));
        others.pushed |= pushed && !clause.contains("通知") && !clause.contains("消息");
        let agent = ["子代理", "子智能体", "子agent", "子任务代理"].iter().any(|word| clause.contains(word));
        let acted =
            ["已", "了", "确认", "完成", "通过", "批准", "报告"].iter().any(|word| clause.contains(word));
        let handed = ["委派", "委托", "派给", "启动", "交给"].iter().any(|word| clause.contains(word));
        others.delegated |= agent && acted && (handed || !clause.contains('我'));
    }
}
