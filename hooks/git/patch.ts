/** Which files lose lines by the text of a patch. */

/** Files that lose lines, without the first `strip` folders of their names; null: any file may. */
export function losingFiles(text: string, strip: number): readonly string[] | null {
  const found = new Set<string>();
  let file: string | null = null;
  for (const line of text.split("\n")) {
    const [, named] = /^(?:--- |rename from )(.*)$/.exec(line) ?? [];
    if (named !== undefined) {
      // A quoted name has escapes of its own.
      if (named.startsWith('"')) return null;
      file = named.replace(/\t.*$/, "");
      const isWhole = line.startsWith("rename");
      if (isWhole) found.add(file);
      else file = file.split("/").slice(strip).join("/");
    } else if (line.startsWith("-") && file !== null) found.add(file);
  }
  return [...found];
}
