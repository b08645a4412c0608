//! What can be typed about a server for browsers.

use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// The port on this machine [default: any that is free]
    #[arg(short, long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// Open the page in your browser
    #[arg(long)]
    pub(crate) open: bool,
    /// Only show: nothing can be started, answered or changed
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Where it is started: sessions may begin here and below
    #[arg(short = 'C', long = "dir", value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Another folder in which sessions may begin; can be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Vec<PathBuf>,
    /// An address that other machines reach, with TLS
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "port")]
    pub(crate) listen: Option<SocketAddr>,
    /// The certificate for --listen, in PEM [default: one of Posse's own]
    #[arg(long, value_name = "FILE", requires = "key", requires = "listen")]
    pub(crate) certificate: Option<PathBuf>,
    /// The certificate's key, in PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(crate) key: Option<PathBuf>,
    /// Another name that the server is asked by; can be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// Keep the token in this file, so that the link stays the same
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Print where it is as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}
