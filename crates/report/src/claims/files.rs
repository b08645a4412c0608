//! Finds the files that prose says were made, changed or removed, by the agent that speaks and now. Which of the names
//! in a sentence is meant is told by what stands right before it; a name in any other place is none of this.

use super::{
    doubt,
    tokens::{CODE, PATH, QUOTE, Sentence, Token, TokenKind},
    words::{self, is},
};
use crate::limits;

/// What is said to have happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileDeed {
    Created,
    Changed,
    Deleted,
}

/// A file that is said to have been changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) path: String,
    pub(crate) deed: FileDeed,
    /// Whether the name may begin earlier than it was read.
    pub(crate) glued: bool,
}

/// What prose says about changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClaimedChanges {
    pub(crate) files: Vec<Changed>,
    /// Whether it says, without a name, that a file, a bug or code was changed.
    pub(crate) unnamed: bool,
}

/// Adds what one sentence says.
pub(crate) fn read(sentence: &Sentence<'_>, changes: &mut ClaimedChanges) {
    if changes.files.len() >= limits::CLAIMS_MAX || sentence.asks_or_depends {
        return;
    }
    let tokens = &sentence.tokens;
    let mut speaks: Option<usize> = None;
    for at in 0..tokens.len() {
        let verb = &tokens[at];
        let Some(deed) = deed(verb) else {
            let spoken = at.checked_sub(1).is_some_and(|before| tokens[before].is_word_in(words::SPEAKERS));
            let other = verb.is_word_in(words::OTHER_DEEDS) || (spoken && verb.lower.ends_with("ed"));
            if other && licensed(tokens, at, speaks) {
                speaks = Some(at);
            }
            continue;
        };
        // "Set the port in config.ini" is advice.
        let advice =
            verb.is_word_in("set put") && !tokens[..at].iter().any(|t| t.is_word_in(words::SPEAKERS));
        if advice || doubt::doubted(tokens, at) {
            continue;
        } else if licensed(tokens, at, speaks) {
            speaks = Some(at);
            objects(tokens, at, deed, changes);
        } else if passive(tokens, at) {
            subjects(tokens, at, deed, changes);
        }
    }
    german(tokens, changes);
    spanish(tokens, changes);
    chinese(sentence, changes);
}

fn add(changes: &mut ClaimedChanges, token: &Token<'_>, deed: FileDeed) {
    let path = token.text.strip_prefix("./").unwrap_or(token.text).to_owned();
    if changes.files.iter().all(|known| known.path != path) {
        changes.files.push(Changed { path, deed, glued: token.glued });
    }
}

fn deed(verb: &Token<'_>) -> Option<FileDeed> {
    let found = |list| verb.is_word_in(list);
    if found(words::REMOVED) {
        Some(FileDeed::Deleted)
    } else if found(words::CHANGED) {
        Some(FileDeed::Changed)
    } else {
        found(words::MADE).then_some(FileDeed::Created)
    }
}

/// Whether the speaker is the one who did it: nothing but fillers between the beginning of the sentence, or an "I", and
/// the verb; or it goes on from such a verb, and nobody else is named in between.
fn licensed(tokens: &[Token<'_>], at: usize, speaks: Option<usize>) -> bool {
    let start = doubt::clause_start(tokens, at);
    let before = &tokens[start..at];
    let filler = |token: &Token<'_>| token.is_word_in(words::LEADS) || token.is_word_in(words::SPEAKERS);
    let fillers = before.iter().rev().take_while(|token| filler(token)).count();
    let lead = &before[before.len() - fillers..];
    let speaker = lead.iter().any(|token| token.is_word_in(words::SPEAKERS));
    let opened = |token: &Token<'_>| {
        token.is_word_in(words::OPENERS) || filler(token) || token.kind == TokenKind::Mark
    };
    let first = tokens[..start].iter().all(opened);
    let same = speaks.is_some_and(|verb| {
        let between = &tokens[verb..at];
        !between
            .iter()
            .any(|token| token.is_word_in(OTHER_SUBJECTS) || token.text == ":" || token.text == "(")
    });
    let alone = lead.len() == before.len() && (first || same);
    let joined = same && lead.first().is_some_and(|token| token.is_word_in("and then also"));
    // "had" alone is a story about the past.
    let past = lead.iter().any(|token| token.is_word_in("had i'd"));
    (alone || speaker || joined) && !past
}

/// Somebody or something else that may have done it.
const OTHER_SUBJECTS: &str = "it which that who they he she this these you what how";

/// `has been changed`, `is now changed`, `was changed`.
fn passive(tokens: &[Token<'_>], at: usize) -> bool {
    let start = doubt::clause_start(tokens, at);
    let filler = |word: &&str| is("successfully now also then just correctly all", word);
    let words = tokens[start..at].iter().map(|token| token.lower.as_str());
    let plain: Vec<&str> = words.clone().filter(|word| !filler(word)).collect();
    let auxiliary = match plain[..] {
        [.., "has" | "have", "been"] | [.., "was" | "were"] => true,
        [.., "is" | "are"] => words.clone().any(|word| word == "now"),
        _ => false,
    };
    let after = &tokens[at + 1..];
    auxiliary
        && !after.iter().any(|token| token.is_word_in(words::NOT_NOW) || token.is_word_in("in during"))
        && !tokens[..at].iter().any(|token| token.is_word_in(words::NOT_NOW))
}

/// The files a verb is about: those behind it.
fn objects(tokens: &[Token<'_>], verb: usize, deed: FileDeed, changes: &mut ClaimedChanges) {
    let mut accepted_last = false;
    let mut named = false;
    for at in verb + 1..tokens.len() {
        let token = &tokens[at];
        if token.is_word_in(words::ENDS_OBJECTS)
            || token.kind == TokenKind::Mark && "—–（(→".contains(token.text)
        {
            break;
        } else if token.kind != TokenKind::Path {
            continue;
        }
        let joined = accepted_last && joins(&tokens[at - 1]) && ends_list(tokens.get(at + 1));
        accepted_last = joined || leads_to(tokens, verb, at);
        if accepted_last {
            named = true;
            // "Added a line to a.rs" makes no file.
            let direct = tokens[verb + 1..at].iter().all(|token| token.is_word_in(words::FILE_NOUNS));
            let made = tokens[verb].is_word_in(words::MADE)
                && !tokens[verb].is_word_in("added wrote written saved")
                && direct;
            add(
                changes,
                token,
                if made {
                    FileDeed::Created
                } else if deed == FileDeed::Deleted && !direct {
                    FileDeed::Changed
                } else {
                    deed
                },
            );
        }
    }
    let near = tokens[verb + 1..].iter().take(5).take_while(|token| token.kind == TokenKind::Word);
    let solid = near.clone().any(|token| token.is_word_in("file files bug bugs code changes"));
    let speaker = verb > 0 && tokens[..verb].iter().any(|token| token.is_word_in("i i've we we've"));
    changes.unnamed |= !named && solid && speaker;
}

/// Whether what follows a name lets it belong to the list before it. In "I made a.rs, and b.rs is as it was" it begins
/// a sentence of its own.
fn ends_list(next: Option<&Token<'_>>) -> bool {
    const GOES_ON: &str = "and & + plus to as for with so in per accordingly successfully too now also respectively using via by from";
    next.is_none_or(|next| next.kind != TokenKind::Word || next.is_word_in(GOES_ON))
}

fn joins(token: &Token<'_>) -> bool {
    token.is_word_in("and & + plus und y") || (token.kind == TokenKind::Mark && ",、".contains(token.text))
}

/// Whether what stands before a path makes it what the verb was done to.
fn leads_to(tokens: &[Token<'_>], verb: usize, at: usize) -> bool {
    let between = &tokens[verb + 1..at];
    let nouns = between
        .iter()
        .rev()
        .take_while(|token| {
            token.is_word_in(words::FILE_NOUNS) || token.text == ":" && token.kind == TokenKind::Mark
        })
        .count();
    let Some((last, before)) = between[..between.len() - nouns].split_last() else { return true };
    let removes = tokens[verb].is_word_in(words::REMOVED);
    if last.is_word_in("from") {
        return removes;
    } else if !last.is_word_in(words::INTO) {
        return false;
    }
    // "described in", "a link to"; but a list of what was added has commas and participles of its own.
    let odd = |token: &Token<'_>| {
        token.kind == TokenKind::Path
            || is(words::NOT_INTO, &token.lower)
            || (token.lower.ends_with("ed") && token.lower.len() > 4)
    };
    match before.last() {
        // "Moved a.rs to b.rs" names both.
        Some(token) if token.kind == TokenKind::Path => tokens[verb].is_word_in("renamed moved converted"),
        Some(token) => !odd(token),
        // "Saved to a.md", "wrote in a.md"
        None => true,
    }
}

/// The files a verb in the passive is about: those that its clause begins with.
fn subjects(tokens: &[Token<'_>], verb: usize, deed: FileDeed, changes: &mut ClaimedChanges) {
    let start = doubt::clause_start(tokens, verb);
    let clause = &tokens[start..verb];
    let noun = |token: &Token<'_>| {
        token.is_word_in(words::FILE_NOUNS)
            || token.is_word_in(words::LEADS)
            || joins(token)
            || token.kind == TokenKind::Path
    };
    let auxiliary =
        |token: &Token<'_>| token.is_word_in("has have been is are was were now also successfully");
    if !clause.iter().all(|token| noun(token) || auxiliary(token)) {
        return;
    }
    let made = tokens[verb].is_word_in("created generated written");
    for token in clause.iter().filter(|token| token.kind == TokenKind::Path) {
        add(changes, token, if made { FileDeed::Created } else { deed });
    }
}

const RELATIVES: &str = "das die der den dem welche welches welcher was wie dass weil wo";

/// "Ich habe hello.py erstellt", "hello.py wurde erstellt", "Fehler in a.rs behoben".
fn german(tokens: &[Token<'_>], changes: &mut ClaimedChanges) {
    for at in 0..tokens.len() {
        let deed = match &tokens[at] {
            token if token.is_word_in(words::REMOVED_GERMAN) => FileDeed::Deleted,
            token if token.is_word_in(words::MADE_GERMAN) => FileDeed::Created,
            token if token.is_word_in(words::CHANGED_GERMAN) => FileDeed::Changed,
            _ => continue,
        };
        let start = doubt::clause_start(tokens, at);
        let clause = &tokens[start..at];
        let has = |list: &str| clause.iter().any(|token| token.is_word_in(list));
        let active = has("habe hab haben")
            && (has("ich wir") || clause.first().is_some_and(|t| t.is_word_in("habe hab haben")));
        let passive = has("wurde wurden") || (has("ist sind") && has("jetzt nun"));
        // "das a.js erzeugt", "a.sh erstellt das Archiv": the present has the same form.
        let relative = start > 0 && clause.first().is_some_and(|t| t.is_word_in(RELATIVES));
        let last =
            tokens.get(at + 1).is_none_or(|next| next.kind == TokenKind::Mark || next.is_word_in("und"));
        let bare = last && !relative && !has("habe hab haben hat wurde wurden ist sind war waren hatte dass");
        let spoken = active || (passive && !has(words::NOT_NOW)) || bare;
        if !spoken
            || doubt::doubted(tokens, at)
            || tokens[at + 1..].iter().any(|t| t.is_word_in("hat hatte worden war"))
        {
            continue;
        }
        let mut any = false;
        for (place, token) in clause.iter().enumerate().filter(|(_, token)| token.kind == TokenKind::Path) {
            let before = place.checked_sub(1).map(|before| &clause[before]);
            let fits = before.is_none_or(|t| t.is_word_in(words::BEFORE_FILE_GERMAN) || joins(t));
            let like = place.checked_sub(2).is_some_and(|two| clause[two].is_word_in("wie siehe aus von"));
            // "die in a.ini definierten Werte"
            let next = clause.get(place + 1);
            let attribute = next.is_some_and(|t| ["ten", "nen"].iter().any(|end| t.lower.ends_with(end)));
            if fits && !like && !attribute {
                any = true;
                let within = before.is_some_and(|t| t.is_word_in("in im"));
                add(changes, token, if within { FileDeed::Changed } else { deed });
            }
        }
        changes.unnamed |= !any && active && has("datei dateien fehler bug änderungen");
    }
    listed(tokens, changes);
}

/// "Erstellt: hello.py", "Created: a.rs, b.rs".
fn listed(tokens: &[Token<'_>], changes: &mut ClaimedChanges) {
    let [verb, mark, rest @ ..] = tokens else { return };
    let verbs = [
        words::MADE_GERMAN,
        words::CHANGED_GERMAN,
        words::REMOVED_GERMAN,
        words::MADE,
        words::CHANGED,
        words::REMOVED,
    ];
    if mark.text != ":" || !verbs.iter().any(|list| verb.is_word_in(list)) {
        return;
    }
    let removed = verb.is_word_in(words::REMOVED) || verb.is_word_in(words::REMOVED_GERMAN);
    for token in rest.iter().take_while(|token| token.kind == TokenKind::Path || joins(token)) {
        if token.kind == TokenKind::Path {
            add(changes, token, if removed { FileDeed::Deleted } else { FileDeed::Changed });
        }
    }
}

/// "He creado hello.py", "Se ha actualizado config.ini".
fn spanish(tokens: &[Token<'_>], changes: &mut ClaimedChanges) {
    for at in 0..tokens.len() {
        let behind = at.checked_sub(1).map(|before| &tokens[before]);
        let perfect = behind.is_some_and(|t| t.is_word_in("he hemos ha han"))
            && tokens[at].is_word_in(words::DONE_SPANISH_PARTICIPLE);
        if !(perfect || tokens[at].is_word_in(words::DONE_SPANISH)) || doubt::doubted(tokens, at) {
            continue;
        }
        let third = behind.is_some_and(|t| t.is_word_in("ha han"));
        if third && !at.checked_sub(2).is_some_and(|two| tokens[two].is_word_in("se")) {
            continue;
        }
        let nouns = tokens[at + 1..].iter().take_while(|t| t.is_word_in(words::FILE_NOUNS_SPANISH)).count();
        for token in tokens[at + 1 + nouns..].iter().take_while(|t| t.kind == TokenKind::Path || joins(t)) {
            if token.kind == TokenKind::Path {
                add(changes, token, FileDeed::Changed);
            }
        }
    }
}

/// "我已创建 hello.py", "修改了 a.rs", "在 a.rs 中修复了错误", "hello.py 已创建".
fn chinese(sentence: &Sentence<'_>, changes: &mut ClaimedChanges) {
    let masked = &sentence.masked;
    if !masked.chars().any(super::tokens::is_spaceless) {
        return;
    }
    let paths: Vec<&Token<'_>> =
        sentence.tokens.iter().filter(|token| token.kind == TokenKind::Path).collect();
    let (mut passed, mut others) = (0, false);
    for clause in masked.split(['，', ',']) {
        let here = clause.matches(PATH).count();
        let mine = paths.get(passed..passed + here).unwrap_or_default();
        passed += here;
        others &= !clause.contains('我');
        if !others && !doubt::doubted_chinese(clause) && !clause.contains(QUOTE) {
            chinese_clause(clause, mine, changes);
        }
        others |= words::OTHERS_CHINESE.split_ascii_whitespace().any(|word| clause.contains(word))
            && !clause.contains('我');
    }
}

fn chinese_clause(clause: &str, paths: &[&Token<'_>], changes: &mut ClaimedChanges) {
    let lists = [
        (words::REMOVED_CHINESE, FileDeed::Deleted),
        (words::CHANGED_CHINESE, FileDeed::Changed),
        (words::MADE_CHINESE, FileDeed::Created),
    ];
    for (list, deed) in lists {
        for verb in list.split_ascii_whitespace() {
            let Some((left, right)) = clause.split_once(verb) else { continue };
            let done_before =
                ["已", "已经", "成功", "刚", "刚刚", "被"].iter().any(|mark| left.ends_with(mark));
            let done_after =
                ["了", "完成", "完毕", "成功", "好了", "为", "过"].iter().any(|mark| right.starts_with(mark));
            let moved = (left.contains('将') || left.contains('把')) && left.contains('已');
            if !(done_before || done_after || moved) || !only_leads(left) {
                continue;
            }
            // Files before the verb: "在 a.rs 中", "将 a.rs", "a.rs 已".
            let before = left.matches(PATH).count();
            for path in paths.iter().take(before) {
                let within = left.contains('在');
                add(changes, path, if within { FileDeed::Changed } else { deed });
            }
            let object = right
                .trim_start_matches(|c: char| "了完成成功好：:一个新的空文件脚本名为叫做模块 ".contains(c));
            let mut rest = object;
            let mut at = before;
            while let Some(more) = rest.strip_prefix(PATH) {
                paths.get(at).into_iter().for_each(|path| add(changes, path, deed));
                at += 1;
                rest = more.trim_start_matches(|c: char| "、和与及以".contains(c));
            }
            let solid = ["文件", "错误", "bug", "代码", "缺陷"].iter().any(|noun| right.contains(noun));
            changes.unnamed |= at == 0
                && solid
                && !right.contains([CODE, PATH])
                && (left.contains('我') || left.contains('已'));
        }
    }
}

/// Whether nothing stands before a verb but what the agent says of itself.
pub(super) fn only_leads(left: &str) -> bool {
    let mut rest = left;
    'next: while let Some(c) = rest.chars().next() {
        if c == PATH || c == CODE || c.is_whitespace() {
            rest = &rest[c.len_utf8()..];
            continue;
        }
        for lead in words::LEADS_CHINESE.split_ascii_whitespace() {
            if let Some(more) = rest.strip_prefix(lead) {
                rest = more;
                continue 'next;
            }
        }
        return false;
    }
    true
}
