use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};
use regex::Regex;

use super::*;

/// Strings made of what breaks Markdown.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[@#!~%&$^*_`|<>\\[\\](){}:/.+=\\\\\"' 0-9a-gw-]{1,6}",
        prop::sample::select(vec![
            "@octocat",
            "#1",
            "GH-12",
            "https://evil.example/x",
            "www.evil.example",
            "a@b.example",
            "<img src=x>",
            "<!--",
            "-->",
            "</details>",
            "&lt;",
            "```",
            "~~~",
            "[x](y)",
            "![x](y)",
            "| a | b |",
            "\n\n# big",
            "\r\n- item",
            "\u{1b}[31mred\u{1b}[0m",
            "\u{1b}]8;;http://e.x\u{7}link",
            "\u{202e}",
            "\u{2066}",
            "::error::x",
            "##[error]x",
            "##vso[task.x]",
            "\t",
            "1. one",
            "---",
            "deadbeef123456",
            "$x^2$",
            ":tada:",
            "[[x]]",
            "/close",
            "\\",
            "\\|",
            "\\`",
            "___",
            "**b**",
            "\u{0}",
            "\u{2028}",
            "é",
            "核",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn text_of(markdown: &str) -> Option<String> {
    let mut text = String::new();
    let mut depth = 0;
    for event in Parser::new_ext(markdown, Options::all() - Options::ENABLE_SMART_PUNCTUATION) {
        match event {
            Event::Text(piece) => text.push_str(&piece),
            Event::Start(Tag::Paragraph) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => return None,
        }
    }
    (depth == 0).then_some(text)
}

fn cells_of(markdown: &str) -> (usize, String) {
    let (mut cells, mut code) = (0, String::new());
    for event in Parser::new_ext(markdown, Options::all()) {
        match event {
            Event::Start(Tag::TableCell) => cells += 1,
            Event::Code(piece) => code.push_str(&piece),
            _ => {}
        }
    }
    (cells, code)
}

#[test]
fn forges_find_nothing() {
    assert_eq!(markdown("@octocat fixes #1"), "@\u{2060}octocat fixes \\#\u{2060}1");
    assert_eq!(markdown("https://x.y"), "https:\u{2060}//x.y");
    assert_eq!(markdown("my_range_name"), "my_range_name");
    assert_eq!(markdown("<b>|\n_x_"), "\\<b\\>\\| \\_x\\_");
    assert_eq!(markdown("/close"), "\\/close");
    assert_eq!(markdown("forward pass 12"), "forward pass 12");
}

#[test]
fn control_characters_and_sequences_are_gone() {
    assert_eq!(plain("a\u{1b}[31mred\u{1b}[0m\u{202e}b\r\nc"), "aredb c");
    assert_eq!(plain("\u{1b}]8;;http://e.x\u{7}link"), "link");
    assert_eq!(plain("x ##[error]y"), "x #\u{2060}#[error]y");
    // Names are as they were where they are no command.
    assert_eq!(plain("## sparse_data_dist ## x"), "## sparse_data_dist ## x");
    assert_eq!(plain("x ##"), "x #\u{2060}#");
}

#[test]
fn code_outlasts_backticks() {
    assert_eq!(code("gemm"), "`gemm`");
    assert_eq!(code("a``b"), "```a``b```");
    assert_eq!(code("`"), "`` ` ``");
    assert_eq!(code("a|b"), "`a¦b`");
    assert_eq!(code("\u{200b}"), "(no name)");
}

#[test]
fn long_strings_keep_both_ends() {
    let long = format!("start{}end", "x".repeat(100_000));
    let shown = markdown(&long);
    assert!(shown.chars().count() <= MAX_CHARS && shown.starts_with("start") && shown.ends_with("end"));
    assert_eq!(name(&long).chars().count(), MAX_NAME_CHARS);
    assert_eq!(name_code(&long), format!("`{}`", name(&long)));
    let message = log(&format!("short\n{long}\n"));
    let lines: Vec<_> = message.lines().map(|line| line.chars().count()).collect();
    assert_eq!(lines, [5, MAX_LINE_CHARS]);
    assert_eq!(line(&long).chars().count(), MAX_LINE_CHARS);
}

proptest! {
    #[test]
    fn markdown_is_text_and_nothing_else(raw in hostile()) {
        let escaped = markdown(&raw);
        let expected = shorten_middle(&clean(&raw), MAX_CHARS);
        for (prefix, suffix) in [("", ""), ("x ", " y")] {
            let page = format!("{prefix}{escaped}{suffix}");
            let text = text_of(&page).map(|text| text.replace(JOINER, ""));
            prop_assert_eq!(text, Some(format!("{prefix}{expected}{suffix}")), "{}", page);
        }
        let (cells, _) = cells_of(&format!("| a | b |\n|---|---|\n| {escaped} | x |\n"));
        prop_assert_eq!(cells, 4);
    }

    #[test]
    fn rendered_text_holds_no_reference(raw in hostile()) {
        let rendered = text_of(&markdown(&raw)).unwrap_or_default();
        for pattern in [r"@\w", r"#\w", r"[!~%$&^]\w", "://", r"(?i)www\.", r"(?i)[a-z]-[0-9]", r"[0-9a-fA-F]{7}", r":\w+:", r"\[\[", "##", "^::"] {
            prop_assert!(!Regex::new(pattern).unwrap().is_match(&rendered), "{pattern} in {rendered:?}");
        }
    }

    #[test]
    fn a_code_span_holds_all_of_it(raw in hostile()) {
        let span = code(&raw);
        let expected = shorten_middle(&plain(&raw), MAX_CHARS).replace('|', "¦");
        let (cells, code) = cells_of(&format!("| a | b |\n|---|---|\n| {span} | x |\n"));
        prop_assert_eq!(cells, 4, "{}", span);
        prop_assert_eq!(code, expected, "{}", span);
    }

    #[test]
    fn plain_is_one_visible_line(raw in hostile()) {
        let text = plain(&raw);
        prop_assert!(!text.chars().any(|c| c != JOINER && (is_invisible(c) || c == '\n')), "{text:?}");
        prop_assert_eq!(plain(&text), text);
    }
}

#[test]
fn messages_keep_their_lines_and_hold_no_commands() {
    assert_eq!(log("a:\n  b  c\n"), "a:\n  b  c\n");
    assert_eq!(log("# A\n## B\n### C"), "# A\n## B\n### C");
    assert_eq!(log("::error::x\n \u{1b}::y"), "\u{2060}::error::x\n\u{2060} ::y");
    assert_eq!(log("x ##[error] ##vso[a] ###team"), "x #\u{2060}#[error] #\u{2060}#vso[a] ##\u{2060}#team");
    assert_eq!(log("\u{202e}a\u{7}b\tc"), "ab\tc");
}

#[test]
fn no_row_of_hashes_is_a_command_of_a_pipeline() {
    for count in 2..9 {
        let text = format!("a {}[error]b ##vso[x]", "#".repeat(count));
        for shown in [plain(&text), code(&text), markdown(&text), log(&text)] {
            assert!(!shown.contains("##[") && !shown.contains("##vso"), "{shown}");
        }
    }
}
