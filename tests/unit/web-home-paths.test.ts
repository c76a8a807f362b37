/** Homes in texts of a snapshot. */
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { homeShortener, homesOf, withTexts } from "../../bin/web/snapshot.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const short = homeShortener(["/home/ann", "/Users/Ann Lee & Co/"]);

test.each([
  ["/home/ann", "~"],
  ["/home/ann/", "~/"],
  ["/home/ann/shop/a.ts", "~/shop/a.ts"],
  ["see /home/ann/a.ts, and /home/ann/b.ts.", "see ~/a.ts, and ~/b.ts."],
  ["It is in /home/ann.", "It is in ~."],
  ['"/home/ann/x" (`/home/ann`) </home/ann>', '"~/x" (`~`) <~>'],
  ["HOME=/home/ann:/home/ann/bin", "HOME=~:~/bin"],
  ["git -C/home/ann/shop", "git -C~/shop"],
  ["file:///home/ann/a%20b", "file://~/a%20b"],
  ["//home/ann/x", "/~/x"],
  ["?file=%2Fhome%2Fann%2Fx", "?file=~%2Fx"],
  ["/Users/Ann Lee & Co/x", "~/x"],
  ["/Users/Ann%20Lee%20&%20Co/x", "~/x"],
  ["/Users/Ann Lee &amp; Co/x", "~/x"],
  ["~/.claude/projects/-home-ann-shop/1.jsonl", "~/.claude/projects/~-shop/1.jsonl"],
  ["/mnt/backup/home/ann/x", "/mnt/backup~/x"],
])("%s", (text, expected) => {
  expect(short(text)).toBe(expected);
});

test("another person's home, and what only looks like one, stay", () => {
  for (const text of [
    "/home/anna/x",
    "/home/ann-2/x",
    "/home/ann.old/x",
    "/home/anné",
    "home/ann",
    "non-home-ann",
  ])
    expect(short(text)).toBe(text);
});

test("a home below another one is written in whole, and the root of all files is no home", () => {
  expect(homeShortener(["/srv", "/srv/ann"])("/srv/ann/x /srv/y")).toBe("~/x ~/y");
  expect(homeShortener(["/", ""])("/etc/x")).toBe("/etc/x");
});

test("a home behind a link counts under both names", () => {
  const top = temporaryFolder("kite-home-");
  const [folder, link] = [join(top, "home"), join(top, "link")];
  mkdirSync(folder);
  symlinkSync(folder, link);
  const shorten = homeShortener(homesOf({ HOME: link }));
  expect(shorten(`${link}/a ${folder}/b`)).toBe("~/a ~/b");
  expect(homesOf({ HOME: "/home/nobody-has-this" })).toContain("/home/nobody-has-this");
});

test("every text of a value is changed, also the names of fields, and nothing else", () => {
  const value = { "/home/ann/k": ["/home/ann", { n: 1, is: true, no: null, deep: "in /home/ann/x" }] };
  expect(withTexts(value, short)).toEqual({ "~/k": ["~", { n: 1, is: true, no: null, deep: "in ~/x" }] });
});
