/** Which files are documents, by their names; all others are code. A lead writes documents. */

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
