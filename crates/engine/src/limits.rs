//! Every limit of the engine, in one place.

/// For how long a face that was woken is not woken again. Nobody sees the difference.
pub const FACE_PAUSE_MS: u64 = 5;
/// Updates a slow face may fall behind before it reads from the record instead.
pub const UPDATES_BEHIND_MAX: usize = 16_384;
/// Sub-agents at work at the same time in one process, whatever its sessions allow, unless the configuration says otherwise.
pub const PROCESS_RUNNING_MAX: usize = 1_000;
/// Read-only calls of one turn that run at the same time.
pub const PARALLEL_CALLS_MAX: usize = 8;
/// A call that only reads is shown as running after this long; a quicker one goes on record with its result.
pub const SHOW_AFTER_MS: u64 = 3;
/// How often what a running command has written is shown.
pub const OUTPUT_TICK_MS: u64 = 200;
/// Bytes of it that are shown each time, the newest.
pub const OUTPUT_PART_BYTES_MAX: usize = 4 * 1024;
/// Updates that the slowest face is behind when it is not shown any more.
pub const OUTPUT_BEHIND_MAX: usize = 1_024;
/// Folders that are read-only for commands one by one, because their files have other names outside.
pub const LINKED_FOLDERS_MAX: usize = 32;
/// How long a session has run before its folder is walked through ahead of the first command. Models take longer to answer.
pub const AHEAD_AFTER_MS: u64 = 100;
/// A look at every file of a workspace that takes longer is worth a word.
pub const SLOW_LOOK_MS: u64 = 1_000;
/// Once its time is over an agent has a tenth of it again for a last report, but at least this long.
pub const LAST_WORD_MS_MIN: u64 = 5_000;
/// And at most this long.
pub const LAST_WORD_MS_MAX: u64 = 30_000;
/// Events read from the record at a time.
pub const EVENTS_PER_PAGE: usize = 500;
/// The most of a project's AGENTS.md that goes into the prompt.
pub const PROJECT_CONTEXT_BYTES_MAX: u64 = 16 * 1024;
/// How many folders upwards a project's files are looked for.
pub const PROJECT_LEVELS_MAX: usize = 32;
/// The longest text of a reply that is kept to report when the reply is cut short.
pub const PARTIAL_BYTES_MAX: usize = 64 * 1024;
/// Turns of a sub-agent when nothing is said.
pub const SUB_AGENT_TURNS: u32 = 50;
/// Tokens of one reply of a sub-agent when nothing is said.
pub const SUB_AGENT_REPLY_TOKENS: u32 = 16_384;
/// Tokens of a sub-agent when nothing is said.
pub const SUB_AGENT_TOKENS: u64 = 65_536;
/// Wall time of a sub-agent when nothing is said.
pub const SUB_AGENT_TIME_MS: u64 = 600_000;
/// Tokens of a report that reach the parent when nothing is said.
pub const RESULT_TOKENS: usize = 2_000;
/// Room for what Posse itself says above a report.
pub const REPORT_HEAD_BYTES: usize = 1024;
/// Bytes taken for one token.
pub const BYTES_PER_TOKEN: usize = 4;
/// Words that may wait for one agent.
pub const MAIL_MAX: usize = 256;
/// The longest message to an agent.
pub const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// Bytes of messages that one event of a fork holds.
pub const FORK_PART_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The longest name of a reasoning effort.
pub const EFFORT_BYTES_MAX: usize = 32;
/// The longest message of a person, who may paste a log or a file.
pub const PROMPT_BYTES_MAX: usize = 1024 * 1024;
/// Conversations of ended agents that are kept to go on with.
pub const KEPT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Files whose contents a task may bring along.
pub const CONTEXT_FILES_MAX: usize = 12;
/// Characters of one such file.
pub const CONTEXT_FILE_CHARS_MAX: usize = 4_000;
/// Characters of all such files together.
pub const CONTEXT_CHARS_MAX: usize = 24_000;
/// Characters of a digest of the parent's conversation.
pub const DIGEST_CHARS_MAX: usize = 8_000;
/// How long a wait for sub-agents lasts when nothing is said.
pub const WAIT_MS: u64 = 300_000;
/// And at most.
pub const WAIT_MS_MAX: u64 = 3_600_000;
/// ApprovalSettings again for a status that has not changed waits this long for a change.
pub const POLL_WAIT_MS: u64 = 20_000;
/// Agents listed on one page of a status.
pub const STATUS_PAGE: usize = 20;
/// Sub-agents at work, and as many that have ended, which are told of when a conversation is shortened.
pub const ROSTER_MAX: usize = 30;
/// The largest skill that is loaded.
pub const SKILL_BYTES_MAX: u64 = 64 * 1024;
/// Skills that can wait for the person to look at them.
pub const SKILL_DRAFTS_MAX: usize = 200;
/// The largest of them, as it is kept.
pub const SKILL_DRAFT_BYTES_MAX: u64 = 512 * 1024;
/// How much of the beginning of a session whoever learns from it is shown.
pub const VIEW_HEAD_BYTES_MAX: usize = 8_000;
/// How much of its end.
pub const VIEW_TAIL_BYTES_MAX: usize = 16_000;
/// Characters of what somebody said in it.
pub const VIEW_SAID_CHARS_MAX: usize = 1_000;
/// Characters of what a call came to.
pub const VIEW_RESULT_CHARS_MAX: usize = 200;
/// How long stopping an agent waits for its end.
pub const STOP_WAIT_MS: u64 = 5_000;
/// The largest file whose lines are counted to check a citation.
pub const FACT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Files of a workspace that a check knows by name; where there are more, it does not tell those that are ignored.
pub const FACT_PATHS_MAX: usize = 50_000;
/// How many different tool lists of one session are kept.
pub const OFFERS_KEPT_MAX: usize = 256;
/// The most of a branch's diff that is kept in a report.
pub const BRANCH_DIFF_BYTES_MAX: usize = 64 * 1024;
/// How long what stopped background commands changed is looked for.
pub const JOB_SETTLE_MS_MAX: u64 = 60_000;
/// The most of a background command's output that is told when it ends.
pub const JOB_TAIL_BYTES_MAX: usize = 2 * 1024;
/// How often it is looked whether agents that were let go of are gone.
pub(crate) const LET_GO_LOOK_MS: u64 = 2;
/// How long whoever lets go of a session, or sees it end, waits until it can be resumed.
pub(crate) const LET_GO_MS_MAX: u64 = 5_000;
/// Characters kept of the first line of a commit's message.
pub(crate) const COMMIT_SUBJECT_CHARS_MAX: usize = 200;
/// Changes of one call whose contents are looked at for tests and commits.
pub(crate) const MEASURED_CHANGES_MAX: usize = 200;
/// Paths that a session wrote and that are kept by name; more are only counted.
pub(crate) const WRITTEN_KEPT_MAX: usize = 10_000;
/// Paths that a pattern in a command stands for and that are looked at.
pub(crate) const MATCHED_PATHS_MAX: usize = 5_000;
/// Roles whose record is told.
pub(crate) const ROLES_RECORDED_MAX: usize = 12;
/// Roles that are named one by one in a sub-agent's prompt.
pub(crate) const ROLES_NAMED_MAX: usize = 4;
/// Roles whose use is told one by one to an agent that leads.
pub(crate) const ROLES_RULED_MAX: usize = 24;
/// Characters of the rule for one role.
pub(crate) const RULE_CHARS_MAX: usize = 160;
/// Conflicts that are told one by one.
pub(crate) const CONFLICTS_TOLD_MAX: usize = 10;
/// The shortest beginning of an id that is taken for one.
pub(crate) const ID_CHARS_MIN: usize = 8;
/// Characters of a whole id.
pub(crate) const ID_CHARS: usize = 36;
/// The longest name of a folder that is taken for a skill.
pub(crate) const SKILL_KEY_CHARS_MAX: usize = 100;
/// How many skills there can be.
pub(crate) const SKILLS_MAX: usize = 500;
/// How many entries of all folders are looked at.
pub(crate) const SKILL_ENTRIES_MAX: usize = 20_000;
/// How many folders deep skills are looked for: deeper than anybody sorts them.
pub(crate) const SKILL_DEPTH_MAX: usize = 16;
/// How many folders deep the files of a skill are looked for.
pub(crate) const SKILL_FILES_DEPTH_MAX: usize = 4;
/// How many files of a skill are told of; more are counted, up to ten times as many.
pub(crate) const SKILL_FILES_MAX: usize = 50;
/// The largest text and the largest file of a skill that is read.
pub(crate) const SKILL_FILE_BYTES_MAX: u64 = 2 << 20;
/// How often a lock is tried that others remove or hold at the same time.
pub(crate) const LOCK_TRIES_MAX: usize = 20;
/// How long a lock is waited for before it is tried again.
pub(crate) const LOCK_PAUSE_MS: u64 = 1;
/// How many files of processes, and of sessions, are looked at when leftovers are cleared.
pub(crate) const LEFT_PROCESSES_MAX: usize = 10_000;
pub(crate) const LEFT_SESSIONS_MAX: usize = 100_000;
/// How many folders deep agent files are looked for: deeper than anybody sorts them.
pub(crate) const ROLE_DEPTH_MAX: usize = 64;
/// How many entries of one place are looked at.
pub(crate) const ROLE_ENTRIES_MAX: usize = 50_000;
/// How much text all agent files have together.
pub(crate) const ROLE_TEXT_BYTES_MAX: usize = 64 << 20;
/// Sessions on one page when nothing is said.
pub const SESSION_PAGE_DEFAULT: usize = 50;
/// And at most.
pub const SESSION_PAGE_MAX: usize = 500;
/// Pages that are read from the record to fill one.
pub(crate) const SESSION_PAGES_READ_MAX: usize = 20;
/// Open questions that are listed.
pub const QUESTIONS_LISTED_MAX: usize = 1_000;
/// Bytes of a diff that is asked for.
pub const DIFF_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of a reply that is not complete which are kept for somebody who begins to follow.
pub const TEXT_SO_FAR_BYTES_MAX: usize = 256 * 1024;
/// Folders of sessions that are listed.
pub(crate) const FOLDERS_LISTED_MAX: usize = 200;
/// What is read of what one hook writes, or answers.
pub(crate) const HOOK_OUTPUT_BYTES_MAX: usize = 1024 * 1024;
/// How much of a hook's text names it.
pub(crate) const HOOK_NAME_CHARS_MAX: usize = 80;
/// How much of what a hook says is shown in one line.
pub(crate) const HOOK_MESSAGE_CHARS_MAX: usize = 300;
/// The longest transcript that is written for hooks.
pub(crate) const HOOK_TRANSCRIPT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How many events a worker tells of one agent.
pub(crate) const REMOTE_EVENTS_MAX: u64 = 200_000;
/// What home keeps of the files that one call of an agent on a worker changed.
pub(crate) const KEPT_AT_ONCE_BYTES_MAX: u64 = 160 << 20;
/// Model calls that home makes for an agent on a worker whose budget is used up: its last report.
pub(crate) const REMOTE_LAST_WORDS_MAX: u32 = 2;
/// Effects of the calls of an agent on a worker that home counts.
pub(crate) const REMOTE_EFFECTS_MAX: usize = 10_000;
/// Events of an agent on a worker that are put on record at once, and about how long these are.
pub(crate) const RECORDED_AT_ONCE_MAX: usize = 500;
pub(crate) const RECORDED_AT_ONCE_BYTES_MAX: usize = 4 << 20;
/// Progress of an agent on a worker: what is longer is cut off.
pub(crate) const REMOTE_PROGRESS_BYTES_MAX: usize = 8 << 10;
/// How much longer than its time and its last report an agent on a worker has before home stops it.
pub(crate) const REMOTE_TIME_EXTRA_MS: u64 = 10_000;
/// How much home keeps of the files that an agent changes on workers, and of how many.
pub(crate) const KEPT_FILES_BYTES_MAX: u64 = 512 << 20;
pub(crate) const KEPT_FILES_MAX: usize = 200_000;
/// The most that a worker may say of one reply: tokens, and what they cost in US dollars.
pub(crate) const REMOTE_REPLY_TOKENS_MAX: u64 = 1_000_000_000;
pub(crate) const REMOTE_REPLY_USD_MAX: f64 = 10_000.0;
/// A question that a worker puts, with its preview, and how many may be open at the same time.
pub(crate) const REMOTE_QUESTION_BYTES_MAX: usize = 1 << 20;
pub(crate) const REMOTE_QUESTIONS_MAX: usize = 32;
/// Requests of an agent on a worker that wait for its events, and calls whose answers it has not taken in.
pub(crate) const REMOTE_REQUESTS_MAX: usize = 256;
/// Model calls that home makes for an agent beyond its turns: workers that take it over ask again.
pub(crate) const REMOTE_CALLS_EXTRA: u32 = 40;
/// Remarks of a worker in a report, and how much of each.
pub(crate) const REMOTE_NOTES_MAX: usize = 8;
pub(crate) const REMOTE_NOTE_CHARS_MAX: usize = 300;
/// How much a worker says of how its agent ended.
pub(crate) const REMOTE_ENDING_BYTES_MAX: usize = 16 << 10;
/// How many files are listed of the work of an agent on a worker.
pub(crate) const REMOTE_FILES_MAX: usize = 2_000;
/// How long a worker has to move a command to the background, and how often it looks whether the command runs.
pub(crate) const MOVE_ELSEWHERE_MS_MAX: u64 = 10_000;
pub(crate) const MOVE_AGAIN_MS: u64 = 50;
/// How many agents of one worker have their work taken in at the same time.
pub(crate) const INTAKES_MAX: usize = 2;
/// How long a worker has to stop an agent before home settles it without.
pub(crate) const CANCEL_ELSEWHERE_MS: u64 = 20_000;
/// The length of a hunk's id, in hexadecimal digits, and how many hunks are marked as reviewed at once.
pub(crate) const HUNK_ID_CHARS: usize = 32;
pub(crate) const HUNKS_MARKED_MAX: usize = 10_000;
