//! Turns a target's TLS settings into a configuration, and TLS failures into messages.

use std::path::Path;
use std::sync::{Arc, Mutex};

use record::{Tls, TlsMode};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

/// The settings as the TLS library's configuration. The last one is cached: thousands of
/// connections share it and resume each other's sessions.
///
/// # Errors
/// What is wrong with the settings or with a file they name.
pub(crate) fn config(tls: &Tls) -> Result<Arc<ClientConfig>, String> {
    static LAST: Mutex<Option<(Tls, Arc<ClientConfig>)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((settings, config)) = &*last
        && settings == tls
    {
        return Ok(Arc::clone(config));
    }
    let config = Arc::new(build(tls)?);
    *last = Some((tls.clone(), Arc::clone(&config)));
    Ok(config)
}

fn build(tls: &Tls) -> Result<ClientConfig, String> {
    let provider = Arc::new(provider(&tls.ciphers)?);
    let verifier = verifier(tls, &provider)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("tls.ciphers: {error}"))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    match (&tls.certificate, &tls.key) {
        (Some(certificate), Some(key)) => {
            let chain = certificates(certificate, "tls.certificate")?;
            let key_der = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| format!("tls.key {}: {error}", key.display()))?;
            config
                .with_client_auth_cert(chain, key_der)
                .map_err(|error| format!("tls.certificate and tls.key: {error}"))
        }
        (None, None) => Ok(config.with_no_client_auth()),
        _ => Err("tls.certificate and tls.key must be set together".into()),
    }
}

/// Suites by their IANA names; TLS 1.3's may begin with `TLS13_`.
fn provider(names: &[String]) -> Result<CryptoProvider, String> {
    let mut provider = ring::default_provider();
    if names.is_empty() {
        return Ok(provider);
    }
    let standard = |name: &str| name.to_ascii_uppercase().replacen("TLS13_", "TLS_", 1);
    let suites = std::mem::take(&mut provider.cipher_suites);
    let known: Vec<_> =
        suites.iter().map(|suite| standard(&format!("{:?}", suite.suite()))).collect();
    for name in names {
        let index = known.iter().position(|known| *known == standard(name));
        let index = index.ok_or_else(|| {
            format!("tls.ciphers: `{name}` is not known; there are {}", known.join(", "))
        })?;
        provider.cipher_suites.push(suites[index]);
    }
    Ok(provider)
}

fn verifier(
    tls: &Tls,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, String> {
    let checks_name = match tls.mode {
        TlsMode::Disable | TlsMode::Prefer | TlsMode::Require => {
            return Ok(Arc::new(Trusting(Arc::clone(provider))));
        }
        TlsMode::VerifyCa => false,
        TlsMode::VerifyFull => true,
    };
    let file = tls.ca.as_ref().ok_or("this tls.mode needs tls.ca: a PEM file of authorities")?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file, "tls.ca")? {
        let added = roots.add(certificate);
        added.map_err(|error| format!("tls.ca {}: {error}", file.display()))?;
    }
    let chain = WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(provider))
        .build()
        .map_err(|error| format!("tls.ca {}: {error}", file.display()))?;
    Ok(if checks_name { chain } else { Arc::new(AnyName(chain)) })
}

fn certificates(file: &Path, field: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{field} {}: {error}", file.display());
    let found = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| failed(&error))?;
    if found.is_empty() { Err(failed(&"no certificate in it")) } else { Ok(found) }
}

/// A failed handshake in the user's terms.
pub(crate) fn explain(error: &Error, tls: &Tls) -> String {
    let Error::InvalidCertificate(certificate) = error else {
        return match error {
            Error::AlertReceived(alert) => {
                format!("the server ends the TLS handshake: {alert:?}")
            }
            error => format!("the TLS handshake fails: {error}"),
        };
    };
    match certificate {
        CertificateError::UnknownIssuer => {
            let file = tls.ca.as_deref().unwrap_or(Path::new("")).display().to_string();
            format!("the server's certificate is not signed by an authority in {file}")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the server's certificate has expired".into()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the server's certificate is not valid yet".into()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("the server's certificate is for another host: {certificate}")
        }
        other => format!("the server's certificate is not accepted: {other}"),
    }
}

/// Accepts any certificate: only encryption is wanted.
#[derive(Debug)]
struct Trusting(Arc<CryptoProvider>);

/// Accepts a certificate from the authorities, whatever host it names.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // The chain is checked first: a wrong name means that everything else is right.
        match self.0.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_chosen_by_name_and_in_order() {
        let names = ["tls_aes_128_gcm_sha256", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"];
        let found = provider(&names.map(str::to_owned)).unwrap();
        let found: Vec<_> =
            found.cipher_suites.iter().map(|suite| format!("{:?}", suite.suite())).collect();
        assert_eq!(found, ["TLS13_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"]);
        let error = provider(&["DES-CBC3-SHA".into()]).unwrap_err();
        assert!(error.contains("`DES-CBC3-SHA` is not known; there are TLS_AES_256_GCM_SHA384"));
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn settings_that_lack_something_say_what() {
        let check = |tls: Tls, expected: &str| {
            let error = config(&tls).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        let verify = Tls { mode: TlsMode::VerifyCa, ..Tls::default() };
        check(verify.clone(), "needs tls.ca");
        check(Tls { ca: Some("/nowhere.pem".into()), ..verify }, "tls.ca /nowhere.pem");
        let require = Tls { mode: TlsMode::Require, ..Tls::default() };
        check(Tls { key: Some("/k".into()), ..require.clone() }, "must be set together");
        let empty =
            Tls { certificate: Some("/dev/null".into()), key: Some("/k".into()), ..require };
        check(empty, "no certificate in it");
    }
}
