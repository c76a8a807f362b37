/** Fields that say nothing a transcript's reader would miss. */
const silent = new Set(["path", "paths", "project", "queued", "anchored"]);

/** Fields whose value says what it is. */
const bare = new Set(["file", "files", "id"]);

/** The fields of an event or a reply in words, in their order. */
export function words(fields: object): string {
  return Object.entries(fields)
    .filter(([name, value]) => !silent.has(name) && value !== false)
    .map(([name, value]) => field(name, value))
    .join(", ");
}

function field(name: string, value: unknown): string {
  if (bare.has(name)) return plain(value);
  const label = name.replace(/Ms$/, "").replaceAll("_", " ");
  if (value === true) return label;
  return `${label} ${name.endsWith("Ms") ? `${Number(value) / 1000}s` : plain(value)}`;
}

/** An actor's name, or its command's as a transcript names it. */
export function nameOf({ name, command }: { readonly name: unknown; readonly command?: unknown }): string {
  return command === undefined ? String(name) : `${name}!${String(command).replaceAll("/", ".")}`;
}

function plain(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "nothing" : value.map(plain).join(" + ");
  if (typeof value === "object" && value !== null) {
    if ("text" in value && "from" in value)
      return `${field("id", Reflect.get(value, "id"))} "${String(value.text)}"`;
    // Somebody, by name.
    if ("name" in value) return nameOf(value);
    return words(value);
  }
  return value === null ? "nobody" : String(value).replace(/^store\./, "");
}
