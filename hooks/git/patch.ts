/** The text of a patch, as far as it matters what it takes out of which files. */

/** Files that lose lines by the patch, each without the first `strip` folders of its name; null: all that may be. */
export function losingFiles(text: string, strip: number): readonly string[] | null {
  const found = new Set<string>();
  let file: string | null = null;
  for (const line of text.split("\n")) {
    const [, named] = /^(?:--- |rename from )(.*)$/.exec(line) ?? [];
    if (named !== undefined) {
      // A name in quotes has escapes of its own.
      if (named.startsWith('"')) return null;
      file = named.replace(/\t.*$/, "");
      const isWhole = line.startsWith("rename");
      if (isWhole) found.add(file);
      else file = file.split("/").slice(strip).join("/");
    } else if (line.startsWith("-") && file !== null) found.add(file);
  }
  return [...found];
}
