//! Rules that explain each other in a circle: one search over all rules, however many there are.

use std::collections::BTreeMap;

use super::{Header, Link};

/// Rules of a circle that are named: of a longer one, those before the last are left out.
const MAX_NAMED_COUNT: usize = 20;

/// Rules that are gone along to tell circles: of rules that all explain each other there are more circles than anybody reads.
const MAX_WALK: usize = 1_000_000;

/// Circles, each with the rule of it that comes first and its link to the next. Of circles that share a link not all are told:
/// without one of those that are, the others are found.
pub(super) fn of<'a>(by_id: &BTreeMap<&'a str, &'a Header>) -> Vec<(&'a Header, &'a Link, Vec<&'a str>)> {
    let mut search = Search { by_id, seen: BTreeMap::new(), way: Vec::new(), walked: 0, found: BTreeMap::new() };
    for header in by_id.values() {
        search.from(header);
    }
    search.found.into_values().collect()
}

/// Where a rule stands in the search.
#[derive(Clone, Copy)]
enum Seen {
    /// On the way, at this place.
    OnTheWay(usize),
    /// All that it explains was looked at.
    Done,
}

struct Search<'a, 'b> {
    by_id: &'b BTreeMap<&'a str, &'a Header>,
    seen: BTreeMap<&'a str, Seen>,
    /// The rules from where the search began, each with how many of its links were followed. No function calls itself: there may be
    /// thousands.
    way: Vec<(&'a Header, usize)>,
    /// How many rules of circles were gone along.
    walked: usize,
    /// By the rule that comes first, and named by it once.
    found: BTreeMap<&'a str, (&'a Header, &'a Link, Vec<&'a str>)>,
}

impl<'a> Search<'a, '_> {
    fn from(&mut self, header: &'a Header) {
        if self.seen.contains_key(header.id.as_str()) {
            return;
        }
        self.enter(header);
        while let Some((header, followed)) = self.way.last_mut() {
            let header = *header;
            let Some(link) = header.explains.get(*followed) else {
                self.seen.insert(&header.id, Seen::Done);
                self.way.pop();
                continue;
            };
            *followed += 1;
            let Some(next) = self.by_id.get(link.relation.rule.as_str()) else { continue };
            match self.seen.get(next.id.as_str()) {
                None => self.enter(next),
                // One that names itself is told so elsewhere.
                Some(Seen::OnTheWay(place)) if next.id != header.id => self.note(*place),
                _ => {}
            }
        }
    }

    fn enter(&mut self, header: &'a Header) {
        self.seen.insert(&header.id, Seen::OnTheWay(self.way.len()));
        self.way.push((header, 0));
    }

    /// Notes the circle of the rules on the way from a place on, the last of which explains the first.
    fn note(&mut self, place: usize) {
        let Some(circle) = self.way.get(place..).filter(|_| self.walked < MAX_WALK) else { return };
        self.walked += circle.len();
        let first = circle.iter().enumerate().min_by_key(|(_, (header, _))| &header.id).map_or(0, |(index, _)| index);
        let in_order = || circle.iter().cycle().skip(first).take(circle.len());
        // The link that was followed last.
        let Some((header, link)) = in_order()
            .next()
            .and_then(|(header, followed)| Some((*header, header.explains.get(followed.checked_sub(1)?)?)))
        else {
            return;
        };
        self.found.entry(&header.id).or_insert_with(|| {
            let mut path: Vec<&str> = in_order().take(MAX_NAMED_COUNT).map(|(header, _)| header.id.as_str()).collect();
            if circle.len() > MAX_NAMED_COUNT {
                path.push("…");
            }
            path.push(&header.id);
            (header, link, path)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::Relation;
    use super::*;

    #[test]
    fn circles_without_end_are_gone_along_so_far() {
        let link = |rule: String| Link {
            relation: Relation { rule, on: Vec::new(), shares: None },
            line: 1,
            unknown: Vec::new(),
            wrong_shares: None,
        };
        let name = |index: usize| format!("r{index:04}");
        // Each explains the next, and two hundred at the beginning: circles of a thousand rules, two hundred thousand of them.
        let (count, back_count) = (1_000, 200);
        let headers: Vec<Header> = (0..count)
            .map(|index| Header {
                id: name(index),
                file: String::new(),
                for_each: None,
                explains: std::iter::once(index + 1).chain(0..back_count).map(|to| link(name(to))).collect(),
                suppressed_by: Vec::new(),
            })
            .collect();
        let by_id: BTreeMap<&str, &Header> = headers.iter().map(|header| (header.id.as_str(), header)).collect();
        let mut search =
            Search { by_id: &by_id, seen: BTreeMap::new(), way: Vec::new(), walked: 0, found: BTreeMap::new() };
        by_id.values().for_each(|header| search.from(header));
        assert!((MAX_WALK..MAX_WALK + count).contains(&search.walked), "{}", search.walked);
        assert_eq!(search.seen.len(), count, "all rules were looked at");
        assert!(!search.found.is_empty() && search.found.values().all(|(.., path)| path.len() <= MAX_NAMED_COUNT + 2));
    }
}
