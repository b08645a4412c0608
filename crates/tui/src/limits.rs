//! Everything has a limit.

/// Rows of the live region, as a part of the screen: one in so many.
pub(crate) const REGION_PART: usize = 3;
/// Rows of the live region on the smallest screens.
pub(crate) const REGION_ROWS_MIN: usize = 5;
/// Rows of the text being written that are shown.
pub(crate) const COMPOSER_ROWS_MAX: usize = 8;
/// Entries of a list of completions that are shown.
pub(crate) const COMPLETIONS_SHOWN_MAX: usize = 6;
/// Columns that completions are lined up to.
pub(crate) const COMPLETED_COLUMNS_MAX: usize = 30;
/// Entries of the queue that are shown.
pub(crate) const QUEUE_SHOWN_MAX: usize = 3;
/// Rows of a running command's output that are shown.
pub(crate) const OUTPUT_ROWS_MAX: usize = 3;
/// Bytes of a running command's output that are kept.
pub(crate) const OUTPUT_BYTES_MAX: usize = 8 * 1024;
/// Items of a to-do list that are shown.
pub(crate) const TODO_SHOWN_MAX: usize = 3;
/// Bytes of reasoning that are kept while it arrives.
pub(crate) const REASONING_BYTES_MAX: usize = 16 * 1024;
/// Lines of a failed command that are printed.
pub(crate) const FAILED_LINES_MAX: usize = 3;
/// Lines of a diff that are printed below an edit.
pub(crate) const DIFF_LINES_MAX: usize = 20;
/// Lines of a report of a sub-agent that are printed.
pub(crate) const REPORT_LINES_MAX: usize = 4;
/// Warnings of a report that are printed.
pub(crate) const WARNINGS_MAX: usize = 5;
/// Columns of a call's title.
pub(crate) const TITLE_COLUMNS_MAX: usize = 200;
/// Columns of a message that is told in one line.
pub(crate) const NOTE_COLUMNS_MAX: usize = 2000;
/// Lines of the output of a command that are printed.
pub(crate) const PRINTED_LINES_MAX: usize = 400;
/// Finished lines of a session that was opened again which are printed; the viewer has all of them.
pub(crate) const REPLAYED_LINES_MAX: usize = 200;
/// Finished lines that are kept while they cannot be printed; the oldest are left out and counted.
pub(crate) const HELD_LINES_MAX: usize = 20_000;
/// Bytes of such lines.
pub(crate) const HELD_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Lines of a prompt that are printed.
pub(crate) const PROMPT_LINES_MAX: usize = 40;
/// How long lines wait for a diff that belongs before them.
pub(crate) const DIFF_WAIT_MS: u64 = 400;
/// How long a first Escape or Ctrl-C waits for a second.
pub(crate) const TWICE_MS: u64 = 1_500;
/// How long a note stays in the status line.
pub(crate) const NOTE_MS: u64 = 4_000;
/// Replies that `/copy` can reach.
pub(crate) const COPIES_MAX: usize = 20;
/// Bytes of words that come back to the composer as they were written; more come back as a chip.
pub(crate) const RESTORED_BYTES_MAX: usize = 16 * 1024;
/// Bytes of one such reply.
pub(crate) const COPY_BYTES_MAX: usize = 256 * 1024;
/// Outputs of the person's own commands that wait for the next prompt; the newest are kept.
pub(crate) const ASIDES_MAX: usize = 16;
/// Characters of a text that is shown in one row of the live region.
pub(crate) const ROW_CHARS_MAX: usize = 1_000;
/// A silence that an agent's row tells of.
pub(crate) const SILENT_TOLD_AFTER_MS: u64 = 30_000;
/// Between two looks at what moves without events, at work and at rest.
pub(crate) const TICK_MS: u64 = 120;
/// Between two frames that no key asks for.
pub(crate) const FRAME_MS: u64 = 40;
/// How long the end of an escape sequence is waited for.
pub(crate) const ESCAPE_MS: u64 = 25;
/// How long the end of the chat waits for a session that begins, and for words on their way to it.
pub(crate) const LEAVE_MS: u64 = 10_000;
/// Inputs that wait for the reducer.
pub(crate) const INPUTS_AHEAD_MAX: usize = 256;
/// How long the output of a command of ours is waited for.
pub(crate) const OWN_PROGRAM_MS: u64 = 60_000;
/// Lines of a question that are looked at to draw it in the live region; the viewer has all of them.
pub(crate) const QUESTION_LINES_MAX: usize = 200;
/// Completions that are found.
pub(crate) const COMPLETIONS_MAX: usize = 50;
/// How long a command that the person typed may run.
pub(crate) const TYPED_COMMAND_MS: u64 = 10 * 60 * 1000;
/// Columns and rows that a terminal counts for which only has lines.
pub(crate) const PLAIN_COLUMNS: u16 = 100;
pub(crate) const PLAIN_ROWS: u16 = 1_000;
/// Bytes that are read from the terminal at once.
pub(crate) const READ_BYTES: usize = 64 * 1024;
/// Events of a transcript that are fetched for a view.
pub(crate) const EVENTS_MAX: usize = 200_000;
/// Events that are read from the record at once.
pub(crate) const EVENTS_AT_ONCE: usize = 512;
/// Sessions that are listed.
pub(crate) const SESSIONS_MAX: usize = 200;
/// Files that are completed.
pub(crate) const FILES_MAX: usize = 200_000;
/// Bytes of what a program of ours says that are kept.
pub(crate) const SAID_BYTES_MAX: usize = 256 * 1024;
/// Bytes of what a status line command says.
pub(crate) const STATUS_BYTES_MAX: usize = 4 * 1024;
/// How long it may take.
pub(crate) const STATUS_MS: u64 = 5_000;
/// Bytes of an image on the clipboard.
pub(crate) const IMAGE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How long a tool for the clipboard may take.
pub(crate) const CLIPBOARD_MS: u64 = 3_000;
/// Bytes of a file that names a branch.
pub(crate) const HEAD_BYTES_MAX: u64 = 4 * 1024;
/// Bytes that are put on the clipboard through the terminal.
pub(crate) const CLIPBOARD_BYTES_MAX: usize = 100 * 1024;
/// Lines of a text that a pager has; more are counted.
pub(crate) const PAGER_LINES_MAX: usize = 200_000;
/// Entries of a transcript that is read in the viewer; more are counted.
pub(crate) const TRANSCRIPT_ENTRIES_MAX: usize = 100_000;
/// Bytes of one entry of it: of a message, of the arguments or the result of a call.
pub(crate) const ENTRY_BYTES_MAX: usize = 64 * 1024;
/// Lines of an entry that is open.
pub(crate) const ENTRY_LINES_MAX: usize = 2_000;
/// Lines of an entry that is folded.
pub(crate) const FOLDED_LINES_MAX: usize = 8;
/// Columns of reasoning that is folded to one line.
pub(crate) const THOUGHT_COLUMNS_MAX: usize = 100;
/// Items of a list to choose from.
pub(crate) const PICKER_ITEMS_MAX: usize = 10_000;
/// Sessions whose first and last words are kept for the preview.
pub(crate) const PREVIEWS_MAX: usize = 100;
/// Bytes of those words.
pub(crate) const PREVIEW_BYTES_MAX: usize = 4 * 1024;
/// Columns from which on a preview stands beside a list.
pub(crate) const PREVIEW_COLUMNS_MIN: usize = 100;
/// Columns from which on a row of a list has more than a name and a time, and two panes may share the screen.
pub(crate) const ROW_DETAILS_COLUMNS_MIN: usize = 60;
/// Columns from which on the tree of agents and the details stand side by side.
pub(crate) const BESIDE_COLUMNS_MIN: usize = 120;
/// Rows from which on they stand one above the other.
pub(crate) const STACKED_ROWS_MIN: usize = 16;
/// Columns from which on an agent takes one row of the tree, not two.
pub(crate) const TREE_ONE_ROW_COLUMNS_MIN: usize = 140;
/// Columns that the deepest agents of the tree are indented by.
pub(crate) const TREE_INDENT_COLUMNS_MAX: usize = 16;
/// Calls, questions, messages and refusals of an agent that its details list, of each.
pub(crate) const DETAIL_ITEMS_MAX: usize = 10;
/// Rows of its to-do list there.
pub(crate) const DETAIL_TODO_ROWS_MAX: usize = 12;
/// How often a session whose connection broke is connected to again, and after which pause.
pub(crate) const RECONNECTS_MAX: usize = 20;
pub(crate) const RECONNECT_PAUSE_MS: u64 = 250;
/// How often, and after which pause, it is looked whether a process is gone.
pub(crate) const GONE_TRIES_MAX: usize = 20;
pub(crate) const GONE_PAUSE_MS: u64 = 10;
/// From so many columns on, help has names and meanings beside each other.
pub(crate) const HELP_COLUMNS_MIN: usize = 72;
/// Characters that are pasted into a line of a full-screen view.
pub(crate) const PASTED_CHARS_MAX: usize = 2_000;
/// Tools or prompts of a server that are named in a list.
pub(crate) const SERVER_NAMES_MAX: usize = 40;
