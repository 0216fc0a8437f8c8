//! A small forge on 127.0.0.1: as much of GitHub's REST interface as one comment needs, with mishaps on demand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The account of the token.
pub(crate) const OURS: (&str, u64) = ("github-actions[bot]", 41_898_282);
pub(crate) const TOKEN: &str = "ghs_not_to_be_seen";

/// What goes wrong instead of, or after, the right answer.
#[derive(Debug, Clone)]
pub(crate) enum Mishap {
    /// This status, these header lines, this content.
    Answer(u16, &'static str, &'static str),
    /// This status, and this content with the request's header of authorization in the place of `{}`.
    Echo(u16, &'static str),
    /// The request is fulfilled, but the answer is this status.
    FulfilledBut(u16),
    /// No answer for this long.
    Slow(Duration),
    /// The connection ends without an answer.
    HangUp,
}

#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) content: String,
}

#[derive(Debug, Default)]
struct State {
    comments: Vec<Value>,
    page_length: usize,
    is_app: bool,
    mishaps: Vec<(&'static str, &'static str, Mishap, usize)>,
    seen: Vec<Seen>,
}

/// The forge. Its thread ends with the test's process.
pub(crate) struct Forge {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

impl Forge {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State { page_length: 100, ..State::default() }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                // A client that hangs up early is its own matter.
                thread::spawn(move || serve(stream, &state).ok());
            }
        });
        Self { url, state }
    }

    /// The token is an app's: /user is not for it.
    pub(crate) fn of_app(self) -> Self {
        self.state.lock().unwrap().is_app = true;
        self
    }

    pub(crate) fn with_page_length(self, length: usize) -> Self {
        self.state.lock().unwrap().page_length = length;
        self
    }

    pub(crate) fn with_comment(self, (login, user): (&str, u64), body: &str) -> Self {
        {
            let comments = &mut self.state.lock().unwrap().comments;
            let id = 1000 + comments.len();
            comments.push(json!({ "id": id, "body": body, "user": { "login": login, "id": user } }));
        }
        self
    }

    /// The next so many requests of this method, to a path that contains this, go wrong.
    pub(crate) fn with_mishap(self, method: &'static str, path: &'static str, mishap: Mishap, times: usize) -> Self {
        self.state.lock().unwrap().mishaps.push((method, path, mishap, times));
        self
    }

    pub(crate) fn bodies(&self) -> Vec<String> {
        let state = self.state.lock().unwrap();
        state.comments.iter().map(|comment| comment["body"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.lock().unwrap().seen.clone()
    }

    /// Methods and paths of the requests that change comments.
    pub(crate) fn writes(&self) -> Vec<(String, String)> {
        let is_write = |seen: &Seen| seen.method != "GET" && !seen.path.ends_with("/graphql");
        self.seen().into_iter().filter(is_write).map(|seen| (seen.method, seen.path)).collect()
    }
}

fn serve(stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut words = first.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (mut length, mut is_authorized) = (0, false);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(": ").unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "authorization" => is_authorized = value == format!("Bearer {TOKEN}"),
            _ => {}
        }
    }
    let mut content = vec![0; length];
    reader.read_exact(&mut content)?;
    let content = String::from_utf8(content).unwrap();
    let (answer, delay) = {
        let mut state = state.lock().unwrap();
        state.seen.push(Seen { method: method.clone(), path: path.clone(), content: content.clone() });
        answer(&mut state, &method, &path, &content, is_authorized)
    };
    thread::sleep(delay);
    let mut stream = stream;
    match answer {
        Some(answer) => stream.write_all(answer.as_bytes()),
        None => Ok(()),
    }
}

fn answer(
    state: &mut State,
    method: &str,
    path: &str,
    content: &str,
    is_authorized: bool,
) -> (Option<String>, Duration) {
    if !is_authorized {
        return (Some(http(401, "", r#"{"message":"Bad credentials"}"#)), Duration::ZERO);
    }
    let due = state.mishaps.iter_mut().find(|(of, at, _, left)| *of == method && path.contains(at) && *left > 0);
    let mishap = due.map(|(_, _, mishap, left)| {
        *left -= 1;
        mishap.clone()
    });
    match mishap {
        Some(Mishap::Answer(status, headers, body)) => (Some(http(status, headers, body)), Duration::ZERO),
        Some(Mishap::Echo(status, body)) => {
            (Some(http(status, "", &body.replace("{}", &format!("Bearer {TOKEN}")))), Duration::ZERO)
        }
        Some(Mishap::HangUp) => (None, Duration::ZERO),
        Some(Mishap::Slow(delay)) => (None, delay),
        Some(Mishap::FulfilledBut(status)) => {
            fulfil(state, method, path, content);
            (Some(http(status, "", "gateway")), Duration::ZERO)
        }
        None => (Some(fulfil(state, method, path, content)), Duration::ZERO),
    }
}

fn fulfil(state: &mut State, method: &str, path: &str, content: &str) -> String {
    const LIST: &str = "/repos/me/project/issues/12/comments";
    const ONE: &str = "/repos/me/project/issues/comments/";
    let (place, query) = path.split_once('?').unwrap_or((path, ""));
    match (method, place) {
        ("GET", "/user") if state.is_app => http(403, "", r#"{"message":"Resource not accessible by integration"}"#),
        ("GET", "/user") => http(200, "", &json!({ "login": OURS.0, "id": OURS.1 }).to_string()),
        ("POST", "/graphql") => {
            let viewer = json!({ "login": "github-actions", "databaseId": OURS.1 });
            http(200, "", &json!({ "data": { "viewer": viewer } }).to_string())
        }
        ("GET", LIST) => list(state, query),
        ("POST", LIST) => {
            let body = serde_json::from_str::<Value>(content).unwrap()["body"].clone();
            let comment =
                json!({ "id": 1000 + state.comments.len(), "body": body, "user": { "login": OURS.0, "id": OURS.1 } });
            state.comments.push(comment.clone());
            http(201, "", &comment.to_string())
        }
        ("PATCH", place) if place.starts_with(ONE) => {
            let id: u64 = place[ONE.len()..].parse().unwrap();
            let body = serde_json::from_str::<Value>(content).unwrap()["body"].clone();
            let comment = state.comments.iter_mut().find(|comment| comment["id"] == id).unwrap();
            comment["body"] = body;
            http(200, "", &comment.to_string())
        }
        _ => gitlab(state, method, place, content),
    }
}

/// The same of GitLab: an author has a username, and comments are notes.
fn gitlab(state: &mut State, method: &str, place: &str, content: &str) -> String {
    const NOTES: &str = "/api/v4/projects/me%2Fgroup%2Fproject/merge_requests/12/notes";
    let body = || serde_json::from_str::<Value>(content).unwrap()["body"].clone();
    match (method, place.strip_prefix(NOTES)) {
        ("GET", None) if place == "/api/v4/user" => {
            http(200, "", &json!({ "username": OURS.0, "id": OURS.1 }).to_string())
        }
        ("GET", Some("")) => {
            let of = |comment: &Value| {
                let user = &comment["user"];
                let author = json!({ "id": user["id"], "username": user["login"] });
                json!({ "id": comment["id"], "body": comment["body"], "system": false, "author": author })
            };
            http(200, "", &json!(state.comments.iter().map(of).collect::<Vec<_>>()).to_string())
        }
        ("POST", Some("")) => {
            let id = 1000 + state.comments.len();
            state.comments.push(json!({ "id": id, "body": body(), "user": { "login": OURS.0, "id": OURS.1 } }));
            http(201, "", &json!({ "id": id }).to_string())
        }
        ("PUT", Some(one)) => {
            let id: u64 = one[1..].parse().unwrap();
            let comment = state.comments.iter_mut().find(|comment| comment["id"] == id).unwrap();
            comment["body"] = body();
            http(200, "", &json!({ "id": id }).to_string())
        }
        _ => http(404, "", r#"{"message":"Not Found"}"#),
    }
}

fn list(state: &State, query: &str) -> String {
    let page: usize = query.rsplit("page=").next().unwrap().parse().unwrap();
    let pages = state.comments.len().div_ceil(state.page_length).max(1);
    let of_page: Vec<_> = state.comments.iter().skip((page - 1) * state.page_length).take(state.page_length).collect();
    // The address is a trap: only the page's number may be believed.
    let link = if page < pages { "Link: <https://elsewhere.invalid/?page=2>; rel=\"next\"\r\n" } else { "" };
    let first = "Link: <https://elsewhere.invalid/?page=1>; rel=\"first\"\r\n";
    http(200, if pages > 1 && link.is_empty() { first } else { link }, &json!(of_page).to_string())
}

fn http(status: u16, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} x\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}
