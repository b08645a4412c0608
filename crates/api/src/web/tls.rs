//! TLS for addresses that others can reach: a certificate that was given, or one of our own that is kept, so that its
//! fingerprint stays the same.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use posse_setup::create_new_private;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest as _, Sha256};

use crate::limits::{CERTIFICATE_DAYS_MAX, SECRET_FILE_BYTES_MAX};
use crate::token::is_private;
use crate::web::certificate::{pem, self_signed};

/// Where the certificate and its key come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsFiles {
    /// Files that the person named, in PEM.
    Given {
        /// The certificate, and those that vouch for it.
        certificate: PathBuf,
        /// Its key.
        key: PathBuf,
    },
    /// Made by Posse in this folder, where it is not there yet.
    Own(PathBuf),
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read or written.
    #[error("{path} cannot be used for TLS: {1}", path = .0.display())]
    File(PathBuf, String),
    /// Certificate and key do not fit.
    #[error("the certificate cannot be used: {0}")]
    Certificate(String),
}

/// A certificate that is ready.
pub(crate) struct Tls {
    pub(crate) config: Arc<ServerConfig>,
    /// SHA-256 of the certificate, as browsers show it.
    pub(crate) fingerprint: String,
}

pub(crate) fn prepare(files: &TlsFiles, names: &[String]) -> Result<Tls, TlsError> {
    let (certificate, key) = match files {
        TlsFiles::Given { certificate, key } => (certificate.clone(), key.clone()),
        TlsFiles::Own(folder) => own(folder, names)?,
    };
    let certificate_text = read(&certificate)?;
    let unreadable = |path: &Path| {
        let path = path.to_path_buf();
        move |error: rustls::pki_types::pem::Error| TlsError::File(path, error.to_string())
    };
    let chain = CertificateDer::pem_slice_iter(&certificate_text).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(unreadable(&certificate))?;
    let first =
        chain.first().ok_or_else(|| TlsError::File(certificate, "it holds no certificate".to_owned()))?;
    let fingerprint = fingerprint(first);
    let key = PrivateKeyDer::from_pem_slice(&read(&key)?).map_err(unreadable(&key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let refused = |error: rustls::Error| TlsError::Certificate(error.to_string());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(refused)?;
    Ok(Tls { config: Arc::new(config), fingerprint })
}

fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let digest = Sha256::digest(certificate);
    digest.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
}

/// Our own certificate for these names: the one that is there, unless it is for others.
fn own(folder: &Path, names: &[String]) -> Result<(PathBuf, PathBuf), TlsError> {
    let failed = |error: io::Error| TlsError::File(folder.to_path_buf(), error.to_string());
    posse_engine::record::prepare_data_dir(folder).map_err(|error| failed(io::Error::other(error)))?;
    // One for each set of names, so that a certificate that somebody has accepted stays.
    let names_id = crate::token::hex(&Sha256::digest(names.join(",").as_bytes())[..8]);
    let place = |ending: &str| folder.join(format!("{names_id}.{ending}"));
    let (certificate, key) = (place("crt"), place("key"));
    let usable = |path: &Path| {
        let now = SystemTime::now();
        let is_new = |made: SystemTime| {
            now.duration_since(made)
                .is_ok_and(|age| age < Duration::from_secs(CERTIFICATE_DAYS_MAX * 24 * 60 * 60))
        };
        let metadata = path.metadata();
        metadata.is_ok_and(|metadata| is_private(&metadata) && metadata.modified().is_ok_and(is_new))
    };
    if usable(&certificate) && usable(&key) {
        return Ok((certificate, key));
    }
    for path in [&certificate, &key] {
        let _ = std::fs::remove_file(path);
    }
    let no_random = || TlsError::Certificate("no random numbers are to be had".to_owned());
    let made = self_signed(names, Timestamp::now()).ok_or_else(no_random)?;
    let texts =
        [(&key, pem("PRIVATE KEY", &made.key)), (&certificate, pem("CERTIFICATE", &made.certificate))];
    for (path, text) in texts {
        create_new_private(path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)?;
    }
    Ok((certificate, key))
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let mut bytes = Vec::new();
    let reading =
        std::fs::File::open(path).and_then(|file| file.take(SECRET_FILE_BYTES_MAX).read_to_end(&mut bytes));
    reading.map_err(|error| TlsError::File(path.to_path_buf(), error.to_string()))?;
    Ok(bytes)
}
