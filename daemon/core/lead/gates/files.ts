/**
 * Which files are documents, by their names; all others are code. A lead writes documents. Which files belong to the
 * tests, by their names and folders. A tester writes these.
 */

const endings: ReadonlySet<string> = new Set([
  "adoc",
  "asciidoc",
  "log",
  "markdown",
  "md",
  "mdx",
  "org",
  "pdf",
  "rst",
  "tex",
  "txt",
]);

const names: ReadonlySet<string> = new Set([
  "authors",
  "changelog",
  "contributing",
  "copying",
  "license",
  "notice",
  "readme",
  "todo",
]);

/** Programs read these, whatever their endings say. */
const code: ReadonlySet<string> = new Set([
  "cmakelists.txt",
  "constraints.txt",
  "requirements.txt",
  "robots.txt",
]);

export function isDocument(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  if (code.has(name)) return false;
  const dot = name.lastIndexOf(".");
  return dot <= 0 ? names.has(name) : endings.has(name.slice(dot + 1));
}

/** Folders of tests and of what tests use. */
const testFolders: ReadonlySet<string> = new Set([
  "__fixtures__",
  "__mocks__",
  "__snapshots__",
  "__tests__",
  "cypress",
  "e2e",
  "fixtures",
  "spec",
  "specs",
  "test",
  "testdata",
  "tests",
]);

/** `a.test.ts`, `a_test.go`, `test_a.py`, `ATest.java`, `a_spec.rb`, `conftest.py`. */
const testNames: readonly RegExp[] = [
  /[._-](?:test|tests|spec|specs|e2e)\.[^/]+$/i,
  /^tests?[._-][^/]*$/i,
  /^conftest\.py$/,
  /[a-z0-9](?:Test|Tests|TestCase|Spec|IT)\.(?:java|kt|kts|scala|groovy|cs|swift|php|m|mm)$/,
];

/** Whether the file belongs to the tests; `path` is relative to the top of the worktree. */
export function isTest(path: string): boolean {
  const names = path.split("/");
  const name = names.pop() ?? "";
  return names.some(folder => testFolders.has(folder.toLowerCase())) || testNames.some(one => one.test(name));
}
