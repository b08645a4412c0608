//! What can be typed about sessions inside an editor.

use posse_protocol::Approval;
use posse_surface::Surface;

use super::{approvals, surfaces};

#[derive(Debug, clap::Args)]
pub(crate) struct AcpArgs {
    /// A configured model, or PROVIDER/MODEL [env: POSSE_MODEL]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// What runs without asking: plan, ask, edit, auto (default), full
    #[arg(long, value_name = "MODE", value_parser = approvals(), hide_possible_values = true)]
    pub(crate) approval: Option<Approval>,
    /// The delegation tools that models see
    #[arg(long, value_name = "NAME", value_parser = surfaces(), hide_possible_values = true)]
    pub(crate) surface: Option<Surface>,
    /// Run commands without the sandbox, with all your rights
    #[arg(long)]
    pub(crate) no_sandbox: bool,
    /// Work in a home folder, or in one that holds homes
    #[arg(long)]
    pub(crate) workspace_is_home: bool,
}
