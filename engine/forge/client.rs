//! Requests that are repeated where that is safe, until a time limit.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::http::{Method, Response};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use super::error::said;
use super::{Api, Forge, ForgeError, Token, Unusable};
use crate::limits::MAX_ANSWER_BYTES;

/// How often one request is sent, at most.
const ATTEMPTS: u32 = 5;
/// One answer takes no longer; a page of comments takes a second or two.
const SLOWEST_ANSWER: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// What GitHub asks for when it does not say how long to wait.
const USUAL_RATE_PAUSE: Duration = Duration::from_secs(60);

/// A connection to a forge in somebody's name.
pub(super) struct Client<'a> {
    agent: Agent,
    api: &'a Api,
    token: &'a Token,
    deadline: Instant,
}

/// Whose certificates are trusted: those of the public authorities, or one's own in their place.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    certificates: Option<Arc<Vec<Certificate<'static>>>>,
}

impl Trust {
    /// The certificates of a file, in PEM, and no others.
    ///
    /// # Errors
    /// When it holds none.
    pub fn of_pem(text: &str) -> Result<Self, Unusable> {
        let own: Vec<Certificate<'static>> = parse_pem(text.as_bytes())
            .filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            })
            .collect();
        match own.is_empty() {
            true => Err(Unusable::new("holds no certificate in PEM")),
            false => Ok(Self { certificates: Some(Arc::new(own)) }),
        }
    }
}

/// One request.
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) url: String,
    pub(super) content: Option<Value>,
    /// What it is for, to end a sentence that begins "could not".
    pub(super) doing: &'static str,
    /// What a workflow has to grant for it.
    pub(super) permission: &'static str,
    /// Whether sending it a second time does no more than sending it once.
    pub(super) is_idempotent: bool,
}

/// An answer of success.
pub(super) struct Answer {
    body: Vec<u8>,
    /// Whether another page follows; absent when the forge does not say.
    pub(super) has_next: Option<bool>,
}

impl Answer {
    pub(super) fn read<T: DeserializeOwned>(&self, doing: &'static str) -> Result<T, ForgeError> {
        serde_json::from_slice(&self.body)
            .map_err(|error| ForgeError::Answer { doing, why: format!("{:?}", error.classify()).to_ascii_lowercase() })
    }
}

/// Why a request came to nothing, and whether that is certain.
pub(super) struct Failure {
    pub(super) error: ForgeError,
    /// The forge may have done what was asked all the same.
    pub(super) is_in_doubt: bool,
}

impl From<Failure> for ForgeError {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}

/// What to do after one attempt failed.
enum Next {
    GiveUp,
    /// Nothing was done; worth another attempt after this time.
    Wait(Duration),
    /// As before, but whether something was done is unknown.
    Doubt,
}

impl<'a> Client<'a> {
    pub(super) fn new(api: &'a Api, token: &'a Token, trust: &Trust, time_limit: Duration) -> Self {
        // A redirect could carry the token elsewhere.
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .https_only(!api.is_loopback())
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("coldspot/", env!("CARGO_PKG_VERSION")));
        let config = match &trust.certificates {
            Some(own) => {
                config.tls_config(TlsConfig::builder().root_certs(RootCerts::Specific(Arc::clone(own))).build())
            }
            None => config,
        };
        // Over plain http a proxy would read the token.
        let config = if api.is_loopback() { config.proxy(None) } else { config };
        Self { agent: config.build().into(), api, token, deadline: Instant::now() + time_limit }
    }

    pub(super) const fn api(&self) -> &Api {
        self.api
    }

    /// Sends a request, again where the forge is busy or limits the rate.
    ///
    /// A request that creates something is not sent again when the first one may have arrived.
    pub(super) fn send(&self, call: &Call) -> Result<Answer, Failure> {
        let mut attempt = 0;
        loop {
            let (error, next) = match self.send_once(call) {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            attempt += 1;
            let pause = match next {
                Next::Wait(pause) => pause.max(pause_before(attempt)),
                Next::Doubt if call.is_idempotent => pause_before(attempt),
                Next::Doubt => return Err(Failure { error, is_in_doubt: true }),
                Next::GiveUp => return Err(Failure { error, is_in_doubt: false }),
            };
            if attempt >= ATTEMPTS || !self.pause(pause) {
                return Err(Failure { error, is_in_doubt: false });
            }
        }
    }

    /// Waits, unless the time limit would pass.
    pub(super) fn pause(&self, pause: Duration) -> bool {
        let fits = pause < self.left();
        if fits {
            thread::sleep(pause);
        }
        fits
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn send_once(&self, call: &Call) -> Result<Answer, (ForgeError, Next)> {
        let network = |error: ureq::Error| {
            let error = ForgeError::Network { doing: call.doing, why: self.token.hide(&error.to_string()) };
            (error, Next::Doubt)
        };
        let mut response = self.exchange(call).map_err(network)?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec().map_err(network)?;
        if response.status().is_success() {
            return Ok(Answer { body, has_next: has_next(&response) });
        }
        let said = said(status, &body);
        let doing = call.doing;
        if let Some(pause) = rate_pause(&response, &said) {
            // A time of its own choice could be anything that the server wants printed.
            let when = match pause.as_secs().max(1) {
                seconds @ ..=MAX_TOLD_PAUSE_S => format!("in {seconds} s"),
                _ => "in more than an hour".to_owned(),
            };
            return Err((ForgeError::RateLimit { said, when }, Next::Wait(pause)));
        }
        Err(match status {
            401 => (ForgeError::Token { said }, Next::GiveUp),
            403 | 404 => (ForgeError::Permission { doing, permission: call.permission, said }, Next::GiveUp),
            500.. => (ForgeError::Refused { doing, said }, Next::Doubt),
            300..=399 => {
                let said = format!("{said}: it sends elsewhere; give the present name of the repository");
                (ForgeError::Refused { doing, said }, Next::GiveUp)
            }
            _ => (ForgeError::Refused { doing, said }, Next::GiveUp),
        })
    }

    fn exchange(&self, call: &Call) -> Result<Response<Body>, ureq::Error> {
        let limit = Some(self.left().clamp(Duration::from_millis(1), SLOWEST_ANSWER));
        let head = ureq::http::Request::builder()
            .method(call.method.clone())
            .uri(&call.url)
            .header("Authorization", self.token.bearer());
        let head = match self.api.forge() {
            Forge::GitHub => {
                head.header("Accept", "application/vnd.github+json").header("X-GitHub-Api-Version", "2022-11-28")
            }
            Forge::GitLab => head.header("Accept", "application/json"),
        };
        match &call.content {
            Some(content) => {
                let request = head.header("Content-Type", "application/json").body(content.to_string())?;
                self.agent.run(self.agent.configure_request(request).timeout_global(limit).build())
            }
            None => self.agent.run(self.agent.configure_request(head.body(())?).timeout_global(limit).build()),
        }
    }
}

/// 0.25 s, 0.5 s, 1 s, …
pub(super) fn pause_before(attempt: u32) -> Duration {
    FIRST_PAUSE * 2_u32.pow(attempt.saturating_sub(1).min(8))
}

fn header<'r>(response: &'r Response<Body>, name: &str) -> Option<&'r str> {
    response.headers().get(name)?.to_str().ok()
}

/// The next page is asked for by number: an address in an answer is no place to send a token to.
fn has_next(response: &Response<Body>) -> Option<bool> {
    header(response, "link").map(|link| link.contains("rel=\"next\""))
}

/// The longest pause that is told in seconds: that of GitHub is an hour at most.
const MAX_TOLD_PAUSE_S: u64 = 3_600;

/// How long to wait when the answer means that there were too many requests. A plain 403 means no permission.
fn rate_pause(response: &Response<Body>, said: &str) -> Option<Duration> {
    let status = response.status().as_u16();
    if status != 403 && status != 429 {
        return None;
    }
    let number = |name| header(response, name).and_then(|text| text.trim().parse::<u64>().ok());
    if let Some(seconds) = number("retry-after") {
        return Some(Duration::from_secs(seconds));
    }
    if number("x-ratelimit-remaining") == Some(0) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let reset = number("x-ratelimit-reset").map(Duration::from_secs);
        return Some(reset.map_or(USUAL_RATE_PAUSE, |reset| reset.saturating_sub(now)));
    }
    let is_limit = status == 429 || said.to_ascii_lowercase().contains("rate limit");
    is_limit.then_some(USUAL_RATE_PAUSE)
}
