//! Everything has a limit: what is read of files and servers, and how long messages get.

/// The largest configuration file that is read.
pub(crate) const CONFIG_BYTES_MAX: u64 = 256 * 1024;
/// The longest command of a status line.
pub(crate) const STATUS_LINE_BYTES_MAX: usize = 16 * 1024;
/// The largest file of a user command.
pub(crate) const COMMAND_FILE_BYTES_MAX: u64 = 64 * 1024;
/// How many user commands there are at most.
pub(crate) const COMMAND_FILES_MAX: usize = 500;
/// How many entries of folders are looked at for them.
pub(crate) const COMMAND_ENTRIES_MAX: usize = 5_000;
/// How deep in a folder they are looked for.
pub(crate) const COMMAND_DEPTH_MAX: usize = 4;
/// The longest name of one.
pub(crate) const COMMAND_NAME_CHARS_MAX: usize = 100;
/// How many commands one may run.
pub(crate) const COMMAND_RUNS_MAX: usize = 20;
/// The longest text that one becomes with its arguments.
pub(crate) const EXPANDED_BYTES_MAX: usize = 1024 * 1024;
/// How many faults of such files are told.
pub(crate) const FAULTS_MAX: usize = 50;
/// How many commands of a file are named where its trust is asked for.
pub(crate) const WANTED_COMMANDS_MAX: usize = 5;
/// How many patterns name the tools of a server.
pub(crate) const SERVER_PATTERNS_MAX: usize = 200;
/// The largest file of a project with servers.
pub(crate) const SERVERS_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// How many servers are named where they do not run.
pub(crate) const SERVERS_NAMED_MAX: usize = 5;
/// How many prompts of a folder are read back, the newest.
pub(crate) const PROMPTS_KEPT_MAX: usize = 1_000;
/// How much of them is read.
pub(crate) const PROMPTS_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The longest prompt that is kept.
pub(crate) const PROMPT_BYTES_MAX: usize = 64 * 1024;
/// The longest name of a file with the project's notes.
pub(crate) const NAME_BYTES_MAX: usize = 200;
/// How much is written to find out whether there is room: more than a file system keeps beside a name.
pub(crate) const ROOM_PROBE_BYTES: usize = 64 * 1024;
/// How long a local server has to say that it is there.
pub(crate) const SERVER_PROBE_MS: u64 = 700;
/// Columns of a model's name.
pub(crate) const MODEL_COLUMNS_MAX: usize = 100;
/// The largest list of users that is read.
pub(crate) const USERS_BYTES_MAX: usize = 1024 * 1024;
/// How many entries of a folder are looked at for homes.
pub(crate) const HOMES_MAX: usize = 4_096;
/// When it is found out whether commands can be confined here.
pub(crate) const SANDBOX_TRIED_AFTER_MS: u64 = 500;
/// How much is said about agent files when a session begins.
pub(crate) const WARNINGS_SHOWN_MAX: usize = 6;
/// The share of a model's context that a task may fill, in percent; the rest is for the work.
pub(crate) const TASK_PERCENT_MAX: u64 = 80;
/// The largest text file that goes with a task.
pub(crate) const ATTACHED_TEXT_BYTES_MAX: u64 = 1024 * 1024;
/// Columns of what is said about one agent file.
pub(crate) const FAULT_COLUMNS_MAX: usize = 200;
/// How long the chosen model's endpoint has to answer.
pub(crate) const ANSWER_MS: u64 = 5000;
/// The longest name of a worker or a label.
pub(crate) const WORKER_NAME_BYTES_MAX: usize = 63;
/// How many labels a worker has.
pub(crate) const WORKER_LABELS_MAX: usize = posse_cluster::limits::LABELS_MAX;
/// How many workers are configured, and how many are known.
pub(crate) const WORKERS_MAX: usize = posse_cluster::limits::WORKERS_MAX;
/// The longest name of an owner.
pub(crate) const OWNER_BYTES_MAX: usize = 32;
/// The longest address of a broker.
pub(crate) const BROKER_ADDRESS_BYTES_MAX: usize = 300;
/// The longest name of a user of a broker.
pub(crate) const BROKER_USER_BYTES_MAX: usize = 256;
/// The longest password of one.
pub(crate) const BROKER_PASSWORD_BYTES_MAX: usize = 1_024;
/// The longest host for ssh.
pub(crate) const SSH_HOST_BYTES_MAX: usize = 255;
/// The longest path of the program that ssh runs.
pub(crate) const SSH_PROGRAM_BYTES_MAX: usize = 1_024;
/// How many additional arguments ssh gets.
pub(crate) const SSH_OPTIONS_MAX: usize = 64;
/// The longest of them.
pub(crate) const SSH_OPTION_BYTES_MAX: usize = 1_024;
/// How long a worker may be silent, if nothing is said.
pub(crate) const LEASE_USUAL_MS: u64 = 30_000;
/// At least.
pub(crate) const LEASE_MS_MIN: u64 = 1_000;
/// At most.
pub(crate) const LEASE_MS_MAX: u64 = 600_000;
/// The shortest time after which a worker says again that it is there.
pub(crate) const RENEW_MS_MIN: u64 = 100;
/// The share of a lease after which it does, if nothing is said.
pub(crate) const RENEW_SHARE: u64 = 3;
/// How many agents a worker runs at the same time.
pub(crate) const WORKER_CAPACITY_MAX: usize = 1_000;
/// Agents of a process that was killed which a worker forgets when it starts.
pub(crate) const FORMER_AGENTS_MAX: usize = 10_000;
/// The room of a worker for repositories and checkouts in MiB, if nothing is said.
pub(crate) const WORKER_FOLDER_USUAL_MB: u64 = 20_000;
/// The largest file with a certificate authority.
pub(crate) const CA_BYTES_MAX: u64 = 32 * 1024;
/// The bytes of an owner's secret.
pub(crate) const SIGNING_SECRET_BYTES: usize = 32;
/// The largest file with a secret or with credentials.
pub(crate) const SECRET_FILE_BYTES_MAX: u64 = 8 * 1024;
/// The largest list of known workers.
pub(crate) const KNOWN_WORKERS_BYTES_MAX: u64 = 1024 * 1024;
/// The largest file that lets a worker join.
pub(crate) const JOIN_FILE_BYTES_MAX: u64 = 64 * 1024;
/// How many processes of one machine are workers at the same time.
pub(crate) const WORKER_PLACES_MAX: usize = 64;
/// The longest number of a process, in a file.
pub(crate) const WORKER_PROCESS_BYTES_MAX: u64 = 32;
/// After how long a worker behind a broker that says nothing is asked again.
pub(crate) const ASK_AGAIN_MS: u64 = 500;
/// How long a worker behind a broker may take to carry out an order.
pub(crate) const ORDER_MS_MAX: u64 = 10_000;
/// The longest text in which a worker says what it is.
pub(crate) const ABOUT_BYTES_MAX: usize = 64 * 1024;
/// How much of one name or reason in it is kept, in columns.
pub(crate) const ABOUT_COLUMNS_MAX: usize = 300;
/// How many models and labels in it are kept.
pub(crate) const ABOUT_NAMES_MAX: usize = 100;
/// How long a worker behind a broker that is heard may take to say something that can be read.
pub(crate) const READABLE_MS: u64 = 3_000;
