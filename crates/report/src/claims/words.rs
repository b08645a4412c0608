//! The words by which claims are known, in English, German, Spanish and Chinese. A word that is missing costs a
//! warning; a word too many costs a false one, so rather leave it out.

/// Whether a list of words holds one.
pub(crate) fn is(list: &str, word: &str) -> bool {
    let list = list.as_bytes();
    let space = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
    let alone =
        |at: usize| space(at.checked_sub(1).and_then(|at| list.get(at))) && space(list.get(at + word.len()));
    // Found by searching rather than by splitting: it is done for every word of a report, with a score of lists.
    !word.is_empty() && memchr::memmem::find_iter(list, word).any(alone)
}

/// In a heading of a few words: what follows is no statement of what was done.
pub(crate) const MUTES: &str = "\
    plan plans todo todos task tasks risks risk blockers blocker usage example examples instructions background history goal goals \
    requirements acceptance remaining open question questions options option alternatives alternative how to follow-up followup later \
    future expected changelog \
    schritte aufgabe aufgaben risiken offen offene ziel ziele beispiel anleitung hintergrund optionen frage fragen \
    pasos tarea riesgos";
/// The same in any line before a list.
pub(crate) const MUTES_ANYWHERE: &str = "\
    next planned planning suggestion suggestions suggested suggest recommendation recommendations recommended recommend proposal proposals \
    proposed propose would could should if want wants need needs must quote said says wrote asked asks \
    nächste nächster nächstes nächsten vorschlag vorschläge empfehlung empfehlungen geplant sollte sollten könnte würde müsste muss \
    próximos siguiente siguientes sugerencias recomendaciones propuesta";
pub(crate) const MUTES_CHINESE: &str = "下一步 接下来 建议 计划 任务 背景 风险 示例 用法 待办 待 问题 方案 选项 历史 要求 目标 后续 如何 需要 应该";

/// Before a clause that begins with its verb: the speaker still means what they did.
pub(crate) const OPENERS: &str = "\
    as requested asked discussed instructed wished done finished ok okay yes sure great perfect summary changes result results status update complete \
    completed all first also erledigt fertig zusammenfassung gut the a task is job alright";
/// Between the beginning of a clause, or the person who speaks, and the verb.
pub(crate) const LEADS: &str = "\
    i i've we we've have just also then now finally successfully first second third next lastly additionally and so done okay ok \
    great yes sure already since furthermore moreover additionally: accordingly both afterwards simply carefully properly went ahead \
    all directly manually had i'd carefully thus therefore hello hi perfect alright certainly correctly step 1 2 3 4 5 6 7 8 9 subsequently";
pub(crate) const SPEAKERS: &str = "i i've we we've i'd ich wir yo";

/// Verbs that say that a file was made, changed or removed.
pub(crate) const MADE: &str = "created wrote written generated saved added made";
pub(crate) const CHANGED: &str = "\
    added updated modified changed edited fixed patched implemented refactored replaced rewrote rewritten corrected adjusted extended \
    saved introduced improved simplified appended inserted reworked tweaked configured bumped wired hardened cleaned resolved renamed \
    moved translated converted repaired overwrote overwritten altered amended migrated reformatted put set documented wrote written \
    completed finished enhanced expanded optimized optimised debugged solved";
pub(crate) const REMOVED: &str = "removed deleted dropped erased";
/// Other things that an agent says it did; they carry the speaker on to the next verb.
pub(crate) const OTHER_DEEDS: &str = "\
    read looked checked reviewed found ran inspected analyzed analysed examined opened searched verified tested investigated identified \
    discovered noticed explored studied executed committed pushed installed built compiled confirmed traced went located reproduced";

/// Before the name of a file, and part of it.
pub(crate) const FILE_NOUNS: &str = "\
    the a an new file files script scripts module modules existing main config configuration named called my our this of: both \
    also your document page class empty simple small python html css javascript typescript rust shell bash json yaml toml markdown \
    source test missing entire whole old following required requested necessary corresponding complete full sample program text";
/// Prepositions that lead to the file that was changed.
pub(crate) const INTO: &str = "in into inside within to at under as";
/// Before such a preposition they make it lead elsewhere: "described in", "a link to".
pub(crate) const NOT_INTO: &str = "\
    reference references link links path paths pointer pointers call calls access respect regard according due similar identical equal \
    related relative next compared prior thanks support seen shown known found given written done used listed able needed back up as \
    belongs points refers lives is are was were be been happens occurs located exists happened occurred appears \
    attention contrast analogous close closer connection route routes mapping listens responds bound import imports";
/// After them, names are those of something else.
pub(crate) const ENDS_OBJECTS: &str = "\
    that which because so when where while if after before instead see who whose rather using used like unlike but though although whereas via \
    without per matching following mirroring";

/// Beside a verb they say that it was not done, not now, or not by the agent.
pub(crate) const DOUBTS: &str = "\
    not no never none neither nor nothing nobody cannot would should could can may might must will shall whether maybe perhaps probably likely \
    expected expect assume assumed hopefully ensure ensures make makes sure need needs needed want wants wanted plan plans planned planning todo \
    try tried trying attempt attempted attempting please let some most few half claim claims claimed says said reported asked asks requires \
    required wrong false unable failed be being until by earlier \
    previously originally formerly recommend recommended suggest suggested propose proposed going unless only partly partially almost \
    nearly upstream somebody someone who \
    supposed intended meant instructed told \
    nicht nichts kein keine keinen keiner keinem nie niemals ob würde würden sollte sollten könnte könnten kann können muss müssen müsste \
    müssten soll sollen wird werden möchte wollte bitte vermutlich wahrscheinlich vielleicht hoffentlich damit geplant plane vorschlag \
    laut angeblich einige manche nur zuvor vorher früher damals ursprünglich versucht versuche er sie man jemand nutzer benutzer noch \
    hätte hätten wäre wären teilweise fast \
    nunca sin debería deberían podría podrían puede pueden quizás tal algunas algunos solo será serán";
/// Anywhere in the sentence they make it a condition.
pub(crate) const CONDITIONS: &str = "\
    if once when whenever unless until assuming provided otherwise would should wenn falls sobald bis sofern si cuando ci pipeline \
    upstream yesterday ago gestern ayer nächster next todo";
/// Behind a verb in the passive they say that it was someone else, or before.
pub(crate) const NOT_NOW: &str = "\
    by before earlier previously originally ago since already last yesterday upstream commit release version history according log logs git shows diff changelog between \
    von durch bereits vorher zuvor früher damals ursprünglich";

/// German participles.
pub(crate) const MADE_GERMAN: &str =
    "erstellt angelegt erzeugt generiert geschrieben gespeichert hinzugefügt";
pub(crate) const CHANGED_GERMAN: &str = "\
    geändert angepasst aktualisiert bearbeitet behoben korrigiert repariert umbenannt implementiert ersetzt überarbeitet erweitert \
    verschoben eingefügt ergänzt modifiziert verändert gefixt umgeschrieben eingebaut gesetzt bereinigt optimiert verbessert \
    refaktoriert umgestellt umgesetzt eingetragen abgeändert hinzugefügt gelöst vereinfacht konfiguriert eingerichtet";
pub(crate) const REMOVED_GERMAN: &str = "gelöscht entfernt";
/// Before the name of a file in German: it is the object, or where the change was made.
pub(crate) const BEFORE_FILE_GERMAN: &str = "\
    ich wir habe haben hab wurde wurden die das der den dem datei dateien skript script modul neue neuen neues klasse in im und sowie \
    namens unter nun jetzt auch zudem anschließend dann danach außerdem erfolgreich eine einen ein einer leere testdatei konfigurationsdatei \
    ist sind sowohl als wunschgemäß noch gewünscht";

/// Spanish: what was done by the speaker, in one word or behind `he`, `se ha`.
pub(crate) const DONE_SPANISH: &str =
    "creé añadí agregué modifiqué actualicé cambié edité corregí arreglé escribí eliminé borré implementé";
pub(crate) const DONE_SPANISH_PARTICIPLE: &str = "\
    creado añadido agregado modificado actualizado cambiado editado corregido arreglado escrito eliminado borrado implementado guardado \
    creada modificada actualizada corregida";
pub(crate) const FILE_NOUNS_SPANISH: &str =
    "el la los un una archivo fichero archivos nuevo script en módulo llamado error bug fallo y";

/// Chinese verbs, the longer ones first.
pub(crate) const MADE_CHINESE: &str = "创建 新建 新增 生成 编写 写入 写好 保存 建立 写 添加 增加";
pub(crate) const CHANGED_CHINESE: &str = "\
    修改 更新 编辑 添加 修复 重构 重命名 实现 调整 改写 替换 优化 修正 完善 增加 更改 改动 变更 修补 解决 改进 重写 扩展";
pub(crate) const REMOVED_CHINESE: &str = "删除 移除 删掉 去掉";
/// What may stand before a Chinese verb when the agent itself is meant.
pub(crate) const LEADS_CHINESE: &str = "\
    我们 我 帮您 为您 帮你 为你 已经 已 成功地 顺利地 顺利 成功 刚刚 刚才 刚 然后 并且 并 同时 此外 另外 最后 首先 其次 接着 随后 还 也 将 把 对 在 中的 中 里的 里 文件 的 \
    了 被 完成 进行 根据 按照 要求 您 按 好的 好 和 及 与 以及 名为 一个 新 内 上 下 目录 任务 现在 现 全部 都 均 \
    ： ， 、 : , （ ） ( ) ✅ - * # 1 2 3 4 5 6 7 8 9 . bug 问题 错误";
/// In an earlier part of the sentence they are who did it.
pub(crate) const OTHERS_CHINESE: &str = "该 它 他 她 脚本 函数 程序 命令 工具 版本 系统 用户 同事 方法 服务 插件 上游 作者 提交 日志 记录 历史 文档 显示";
/// They say that it was not done, not now, or not by the agent.
pub(crate) const DOUBTS_CHINESE: &str = "\
    不 没 未 无法 无需 如果 若 假如 只要 一旦 需要 应该 应当 建议 可以 可能 或许 会 能 计划 打算 准备 请 接下来 下一步 待 之前 以前 曾 尚 部分 只有 仅 \
    是否 希望 确保 用户 同事 上游 除了 尝试 试图 提交 要 让 声称 表示 说 原本 原来 谁 何时 由";
/// Words that hold one of those and mean something else.
pub(crate) const NO_DOUBTS_CHINESE: &str = "\
    请求 功能 性能 智能 能力 会话 会员 要求 主要 重要 必要 说明 由于 路由 理由 不再 不仅 未来 等待 无误 没问题 让步 概要 摘要";
