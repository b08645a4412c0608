//! What agents call the sections of a report, and how they say that there is nothing in one. In the languages that
//! models answer in; a name that is missing costs a section its place when a report is cut.

use std::{collections::HashMap, sync::LazyLock};

use crate::limits;

/// The sections that a report is asked to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SectionName {
    Summary,
    Changes,
    Evidence,
    Risks,
    Blockers,
    Suggestions,
    /// Something else.
    Other,
}

/// Names of sections in small letters, some languages a line.
const NAMES: &[(SectionName, &[&str])] = &[
    (
        SectionName::Summary,
        &[
            "summary",
            "zusammenfassung|kurzfassung|ergebnis",
            "resumen|resumo|riassunto|sommario",
            "résumé|synthèse",
            "摘要|总结|概要|概述|小结|要約|まとめ|요약",
            "итог|итоги|резюме",
        ],
    ),
    (
        SectionName::Changes,
        &[
            "change|changes|changes made|files changed|files modified|files modified/created|created files|files created",
            "modified files|changed files|new files|edited files|files edited|files updated",
            "änderung|änderungen|geänderte dateien|erstellte dateien|neue dateien|vorgenommene änderungen|durchgeführte änderungen",
            "cambios|cambios realizados|archivos modificados|alterações|modifiche|modifications|changements",
            "变更|更改|修改|改动|修改的文件|修改内容|变更文件|已修改的文件|创建的文件|新增文件|新建文件|変更|変更点|변경|변경 사항",
            "изменения|изменённые файлы",
        ],
    ),
    (
        SectionName::Evidence,
        &[
            "evidence|findings|finding",
            "beleg|belege|nachweis|nachweise|befund|befunde",
            "evidencia|evidencias|hallazgos|evidências|prove|preuves|constats",
            "证据|依据|发现|根拠|証拠|근거|증거",
            "доказательства|находки",
        ],
    ),
    (
        SectionName::Risks,
        &[
            "risk|risks|known risks|open risks|remaining risks|risks and blockers|risks & blockers",
            "risiko|risiken|bekannte risiken|offene risiken",
            "riesgo|riesgos|risco|riscos|rischio|rischi|risque|risques",
            "风险|風險|潜在风险|リスク|위험|리스크",
            "риск|риски",
        ],
    ),
    (
        SectionName::Blockers,
        &[
            "blocker|blockers|open blockers|blocked|blocked by",
            "blockade|blockaden|blockierer|hindernis|hindernisse|blockiert|blockiert durch",
            "bloqueo|bloqueos|bloqueador|bloqueadores|impedimento|impedimentos|obstáculo|obstáculos|bloqueios",
            "blocco|blocchi|ostacolo|ostacoli|blocage|blocages|obstacle|obstacles|points bloquants",
            "阻碍|阻塞|障碍|阻塞项|阻碍项|阻碍因素|阻塞问题|卡点|阻礙|障礙|ブロッカー|障害|障害物|차단|차단 요소|장애물",
            "препятствие|препятствия|блокер|блокеры",
        ],
    ),
    (
        SectionName::Suggestions,
        &[
            "suggestion|suggestions|recommendation|recommendations|next steps",
            "vorschlag|vorschläge|empfehlung|empfehlungen|nächste schritte",
            "sugerencias|recomendaciones|próximos pasos|sugestões|suggerimenti|prossimi passi|recommandations|prochaines étapes",
            "建议|后续步骤|下一步|提案|次のステップ|제안|다음 단계",
            "предложения|рекомендации|следующие шаги",
        ],
    ),
    (
        SectionName::Other,
        &["details|warnings|notes", "einzelheiten|hinweise|warnungen", "detalles|notas", "详情|说明|备注"],
    ),
];

/// The same, to be found by name: this is asked of every line.
static BY_NAME: LazyLock<HashMap<&str, SectionName>> = LazyLock::new(|| {
    let names = |(section, lists): &(SectionName, &'static [&'static str])| {
        let section = *section;
        lists.iter().flat_map(|list| list.split('|')).map(move |name| (name, section))
    };
    NAMES.iter().flat_map(names).collect()
});

/// The section that a line names before its colon, or in all of it, and what follows the name.
pub(crate) fn named(words: &str) -> Option<(SectionName, &str)> {
    let end = words.find([':', '：']).unwrap_or(words.len());
    let name = words[..end].trim_end_matches(['*', '_', '#', ' ', '\t']);
    if name.len() > limits::SECTION_NAME_BYTES_MAX {
        return None;
    }
    Some((*BY_NAME.get(name.to_lowercase().as_str())?, &words[name.len()..]))
}

/// How agents say that there is nothing to say.
const NONE: &str = "\
    none nothing n/a no keine keiner keines kein keinerlei nichts entfällt ninguno ninguna ningún nada aucun aucune rien néant nessuno nessuna \
    niente nenhum nenhuma нет отсутствуют 无 沒有 没有 暂无 暫無 不适用 なし 特になし 없음";
/// What may follow such a word within the same sentence: more about there being none. Anything else is about something
/// that is missing, and that is in the way.
const OF_NONE: &str = "\
    changes change files file blockers blocker risks risk suggestions evidence issues issue known identified found so far at applicable were was \
    made needed required encountered remaining anticipated expected currently now to yet noted new further other significant major \
    änderungen änderung risiken risiko blocker hindernisse hindernis vorschläge bekannt bekannten gefunden vorhanden nötig weiteren offenen \
    cambios riesgos riesgo bloqueos bloqueo obstáculos conocido conocidos conocida por hay risque risques blocage blocages modification connu noto alterações \
    riscos bloqueios rischi blocchi modifiche блокеров рисков изменений препятствий";
const OF_NONE_CHINESE: &str = "阻碍 阻塞 障碍 风险 變更 变更 更改 修改 改动 问题 建议 明显 已知 其他";

/// Whether a section says that there is nothing to say.
pub(crate) fn says_none(section: &str) -> bool {
    let first = section.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let plain = first.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    // The longest first: `n` is not `n/a`.
    let word_end = plain.find(|c: char| !c.is_alphanumeric() && c != '/').unwrap_or(plain.len());
    let (word, rest) = plain.split_at(word_end);
    let none = |word: &str| NONE.split_ascii_whitespace().any(|one| one == word);
    let of_none = |word: &str| OF_NONE.split_ascii_whitespace().any(|one| one == word);
    if none(word) {
        let next = rest.strip_prefix(' ').map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next());
        let next = next.flatten().filter(|next| !next.is_empty());
        let alone = if word == "no" { rest.trim_end_matches(['.', '!']).is_empty() } else { next.is_none() };
        return alone || next.is_some_and(of_none);
    }
    // Without spaces the word and what it is about are one.
    ["无", "没有", "暂无"].iter().filter_map(|none| word.strip_prefix(none)).any(|rest| {
        let about = |noun: &&str| rest.trim_start_matches("任何").starts_with(noun);
        OF_NONE_CHINESE.split_ascii_whitespace().any(|noun| about(&noun))
    })
}
