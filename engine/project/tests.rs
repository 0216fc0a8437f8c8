use super::*;
use crate::limits::MAX_CONFIG_ENTRY_COUNT;
use crate::text::glob::Glob;

fn library() -> Library {
    Library::builtin().unwrap_or_else(|faults| panic!("{faults}"))
}

fn scorecard() -> Scorecard {
    Scorecard::parse(include_str!("../../templates/scorecard.toml"), "scorecard.toml").unwrap()
}

fn check(text: &str) -> Result<Config, Faults> {
    let today = Date::parse("2026-06-15").unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    ConfigFile::parse(FILE_NAME.to_owned(), folder, text.to_owned())?.check(&library(), &scorecard(), today)
}

#[track_caller]
fn faults(text: &str) -> Vec<String> {
    check(text).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn everything_that_can_be_said() {
    let config = check(
        r#"
        templates = "templates"
        [rules]
        dirs = ["rules"]
        off = ["no-gpu-work"]
        [params.pageable-copy]
        min_share = 0.05
        [params.sync-gap]
        min_share = 1
        [severity]
        sync-gap = "low"
        [review]
        fail_on = "medium"
        [scorecard]
        gpu_busy = 0.95
        [[ignore]]
        rule = "pageable-copy"
        entity = "gpu0/*"
        reason = " known "
        until = 2026-06-15
        [[ignore]]
        rule = "sync-gap"
        reason = "also known"
        until = "2026-06-14"
        "#,
    )
    .unwrap();
    assert_eq!(config.params().get("sync-gap", "min_share"), Some(&1.into()));
    assert_eq!(config.params().get("pageable-copy", "min_share"), Some(&0.05.into()));
    assert_eq!((config.severity("sync-gap"), config.severity("pageable-copy")), (Some(Severity::Low), None));
    assert_eq!(config.fail_on(), Some(Threshold::At(Severity::Medium)));
    let policy = config.policy();
    assert_eq!(policy.rules_off, ["no-gpu-work"]);
    let [first, second] = policy.ignores.as_slice() else { panic!("{policy:?}") };
    assert_eq!((first.entity.as_ref().map(Glob::as_str), first.reason.as_str()), (Some("gpu0/*"), "known"));
    assert_eq!(
        (first.until.as_deref(), first.is_expired),
        (Some("2026-06-15"), false),
        "the last day is one of its days"
    );
    assert!(second.is_expired && second.entity.is_none());

    let mut card = scorecard();
    config.set_targets(&mut card);
    assert_ne!(card, scorecard());
    let mut rules = library().infos();
    config.set_severities(&mut rules);
    let set: Vec<_> = rules.iter().filter_map(|rule| Some((rule.id.as_str(), rule.set_severity?))).collect();
    assert_eq!(set, [("sync-gap", Severity::Low)]);
}

#[test]
fn an_empty_file_decides_nothing() {
    let config = check("").unwrap();
    assert_eq!((config.fail_on(), config.policy()), (None, Policy::default()));
}

#[test]
fn all_faults_are_reported_together_with_their_lines_and_the_nearest_names() {
    let text = r#"templates = "no-such-templates"
[rules]
dirs = ["rules", "no-such-rules"]
off = ["sync-gab"]
of = []
[params.pageable-copi]
min_share = 0.1
[params.pageable-copy]
min_shar = 0.1
min_share = 1.5
[params.sync-gap]
min_share = "many"
[severity]
sync-gap = "hgh"
[review]
fail_on = "info"
[scorecard]
gpu_bussy = 0.9
gpu_busy = 85
[[ignore]]
rule = "pageable-copies"
reason = "known"
[[ignore]]
rule = "sync-gap"
reason = " "
until = "31.12.2026"
[[ignore]]
rule = "sync-gap"
"#;
    let folder = env!("CARGO_MANIFEST_DIR");
    assert_eq!(
        faults(text),
        [
            format!("coldspot.toml:1: there is no folder `no-such-templates` in {folder}"),
            format!("coldspot.toml:3: there is no folder `no-such-rules` in {folder}"),
            "coldspot.toml:4: there is no rule `sync-gab`; did you mean `sync-gap`?".to_owned(),
            "coldspot.toml:5: unknown key `of`; known are `dirs` and `off`".to_owned(),
            "coldspot.toml:6: there is no rule `pageable-copi`; did you mean `pageable-copy`?".to_owned(),
            "coldspot.toml:9: rule `pageable-copy` has no param `min_shar`; did you mean `min_share`?".to_owned(),
            "coldspot.toml:10: `pageable-copy.min_share` is a share: between 0 and 1".to_owned(),
            "coldspot.toml:12: `sync-gap.min_share` must be a finite number, in share".to_owned(),
            "coldspot.toml:14: unknown severity `hgh`; did you mean `high`?".to_owned(),
            "coldspot.toml:16: unknown fail_on `info`; known are `high`, `medium`, `low` and `never`".to_owned(),
            "coldspot.toml:18: the scorecard has no `gpu_bussy`; did you mean `gpu_busy`?".to_owned(),
            "coldspot.toml:19: `scorecard.gpu_busy` is a share: between 0 and 1".to_owned(),
            "coldspot.toml:21: there is no rule `pageable-copies`; did you mean `pageable-copy`?".to_owned(),
            "coldspot.toml:25: an ignore needs a `reason`: it is shown in every review".to_owned(),
            "coldspot.toml:26: `until` is a day, written as \"2026-12-31\"".to_owned(),
            "coldspot.toml:28: an ignore needs a `reason`: it is shown in every review".to_owned(),
        ]
    );
}

#[test]
fn a_file_that_cannot_be_read_says_where() {
    assert_eq!(faults("[rules]\ndirs = 1"), ["coldspot.toml:2: invalid type: integer, expected a sequence"]);
    let torn = faults("[rules\n");
    assert!(torn[0].starts_with("coldspot.toml:1: "), "{torn:?}");
    let absent = ConfigFile::read(Path::new("no/such/coldspot.toml")).unwrap_err().to_string();
    assert!(absent.starts_with("no/such/coldspot.toml:1: it cannot be read"), "{absent}");
}

#[test]
fn the_nearest_file_above_is_found() {
    let root = tempfile::tempdir().unwrap();
    let deep = root.path().join("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    assert_eq!(find(&deep).filter(|path| path.starts_with(root.path())), None);
    std::fs::write(root.path().join(FILE_NAME), "").unwrap();
    assert_eq!(find(&deep), Some(root.path().join(FILE_NAME)));
    std::fs::write(root.path().join("a").join(FILE_NAME), "").unwrap();
    assert_eq!(find(&deep), Some(root.path().join("a").join(FILE_NAME)));
}

#[test]
fn what_is_held_against_every_finding_has_a_limit() {
    let entries =
        |one: &str| (0..=MAX_CONFIG_ENTRY_COUNT).map(|number| one.replace('N', &number.to_string())).collect();
    let ignores: String = entries("[[ignore]]\nrule = \"sync-gap\"\nreason = \"N\"\n");
    assert!(faults(&ignores)[0].ends_with("there are more than 1000 ignores"));
    let sources: String = entries("[[source]]\nkernel = \"kN\"\nfile = \"a.cu\"\n");
    assert!(faults(&sources)[0].ends_with("there are more than 1000 sources"));
    let long = format!("[[source]]\nkernel = \"{}\"\nfile = \"a.cu\"\n", "*a".repeat(501));
    assert!(faults(&long)[0].ends_with("a pattern has at most 1000 bytes"));
    let budgets: String = entries("'kernel[\"kN\"].mean_ns' = \"+5%\"\n");
    let all = faults(&format!("[budgets]\n{budgets}"));
    assert!(all[0].ends_with("there are more than 100 budgets of kernels or ranges by name"), "{}", all[0]);
    let stars = format!("[budgets]\n'kernel[\"{}\"].mean_ns' = \"+5%\"\n", "*a".repeat(17));
    assert!(faults(&stars)[0].ends_with("a pattern has at most 16 `*`"));
    let long = format!("[[ignore]]\nrule = \"sync-gap\"\nreason = \"r\"\nentity = \"{}\"\n", "*a".repeat(501));
    assert!(faults(&long)[0].ends_with("a pattern has at most 1000 bytes"));
    let unknown: String = entries("\"no.such.number.N\" = 5\n");
    assert_eq!(faults(&format!("[budgets]\n{unknown}")).len(), crate::limits::MAX_FAULT_COUNT);
}
