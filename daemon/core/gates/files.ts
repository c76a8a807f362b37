/** Which files are documents, by their names; all others are code. A lead writes documents. */

const endings: ReadonlySet<string> = new Set([
  "adoc",
  "asciidoc",
  "htm",
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

export function isDocument(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const dot = name.lastIndexOf(".");
  return dot <= 0 ? names.has(name) : endings.has(name.slice(dot + 1));
}
