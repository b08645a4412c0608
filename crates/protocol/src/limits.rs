//! Limits on what is carried between crates.

/// The longest words that say where an agent runs.
pub const PLACE_BYTES_MAX: usize = 64;
/// The longest title of a tool call, in characters.
pub const TITLE_CHARS_MAX: usize = 100;
/// How many paths the start of a call names.
pub const CALL_PATHS_MAX: usize = 8;
/// The longest path that it names, in bytes; longer ones are left out.
pub const CALL_PATH_BYTES_MAX: usize = 1024;
/// The longest diff that a question carries, in bytes.
pub const PREVIEW_BYTES_MAX: usize = 512 * 1024;
/// The longest free question, in characters.
pub const QUESTION_CHARS_MAX: usize = 4_000;
/// How many answers a free question may propose.
pub const CHOICES_MAX: usize = 10;
/// The longest of them, in characters.
pub const CHOICE_CHARS_MAX: usize = 200;
/// The longest answer of a person, in bytes.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024;
/// How many written files a question names.
pub const WRITTEN_NAMES_MAX: usize = 5;
/// How many commands a receipt lists.
pub const RECEIPT_COMMANDS_MAX: usize = 50;
/// How many files a receipt lists.
pub const RECEIPT_FILES_MAX: usize = 500;
/// How many denied calls a receipt holds.
pub const RECEIPT_DENIALS_MAX: usize = 50;
/// How many changed test files a receipt lists.
pub const RECEIPT_TEST_FILES_MAX: usize = 50;
/// How many commits a receipt lists.
pub const RECEIPT_COMMITS_MAX: usize = 20;
/// How many sub-agents a receipt lists.
pub const RECEIPT_CHILDREN_MAX: usize = 50;
/// Marks above and below one letter; more of them would cover the lines around it.
pub(crate) const MARKS_MAX: usize = 4;
/// Characters of a title that Posse makes of a prompt.
pub const TITLE_SHORT_CHARS_MAX: usize = 60;
/// Bytes of a prompt that are looked at for its title.
pub const TITLE_PROMPT_BYTES_MAX: usize = 16 * 1024;
/// Characters of a title that a person gives.
pub const NAME_CHARS_MAX: usize = 200;
/// Characters of what a person types for a title that are looked at: spaces at its ends count.
pub(crate) const NAME_TYPED_CHARS_MAX: usize = 1_000;
/// Characters that a sentence must have to be a title alone.
pub(crate) const SENTENCE_CHARS_MIN: usize = 12;

/// The largest image, in bytes: Anthropic takes 5 MiB of base64, which is three quarters of that.
pub const IMAGE_BYTES_MAX: u64 = 5 * 1024 * 1024 / 4 * 3;
/// The longest side of an image.
pub const IMAGE_SIDE_PIXELS_MAX: u32 = 8_000;
/// The largest document, in bytes. Providers take requests of 32 MB and more, and base64 adds a third.
pub const DOCUMENT_BYTES_MAX: u64 = 10 * 1024 * 1024;
/// How many attachments go with one message.
pub const ATTACHMENTS_MAX: usize = 20;
/// How many bytes of base64 go with one message; an event has to hold them.
pub const ATTACHMENTS_DATA_BYTES_MAX: usize = 20 * 1024 * 1024;
/// The longest name of an attachment, in columns.
pub const ATTACHMENT_NAME_COLUMNS_MAX: usize = 100;
/// Bytes of text that take about one token.
pub const BYTES_PER_TOKEN: u64 = 4;
/// Pixels of an image that take about one token.
pub(crate) const IMAGE_PIXELS_PER_TOKEN: u64 = 750;
/// What the smallest image takes in tokens.
pub(crate) const IMAGE_TOKENS_MIN: u64 = 85;
/// What the largest image takes in tokens: providers make larger ones smaller.
pub(crate) const IMAGE_TOKENS_MAX: u64 = 1_600;
/// The bytes of one page of a document, for an estimate.
pub(crate) const DOCUMENT_BYTES_PER_PAGE: u64 = 50 * 1024;
/// What one page of a document takes in tokens: its text and its picture.
pub(crate) const DOCUMENT_TOKENS_PER_PAGE: u64 = 2_000;
