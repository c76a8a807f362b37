/** Finds a password in the text of a `.pgpass`, as PostgreSQL's own clients do. Pure. */

/** What a line has to match. */
export interface PassQuery {
  /** A name or an address as the address has it, or the directory of a unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

/** Directories where servers put their sockets without being told: a line finds them as `localhost`. */
const usualSocketFolders: ReadonlySet<string> = new Set(["/tmp", "/run/postgresql", "/var/run/postgresql"]);

/**
 * Returns the password of the first line that matches: `host:port:database:user:password`. A field that is `*` alone matches
 * anything. A backslash stands before a `:` or a backslash that belongs to a field. A line that begins with `#` is a
 * comment. Null: no line matches, or the one that does has no password.
 */
export function passwordIn(text: string, { host, port, database, user }: PassQuery): string | null {
  const hosts = usualSocketFolders.has(host) ? [host, "localhost"] : [host];
  for (const line of text.split("\n")) {
    if (line.startsWith("#")) continue;
    const fields = fieldsOf(line.replace(/\r+$/, ""));
    const [ofHost, ofPort, ofDatabase, ofUser, password] = fields;
    if (password === undefined) continue;
    const isMatch =
      hosts.some(name => matches(ofHost, name)) &&
      matches(ofPort, String(port)) &&
      matches(ofDatabase, database) &&
      matches(ofUser, user);
    if (isMatch) return plainField(password) || null;
  }
  return null;
}

/** Splits a line at each `:` that no backslash stands before. Fields after the fifth mean nothing. */
function fieldsOf(line: string): readonly string[] {
  const fields: string[] = [];
  let field = "";
  for (let at = 0; at < line.length; at += 1) {
    if (line[at] === ":") {
      fields.push(field);
      field = "";
    } else {
      field += line[at];
      // The character after a backslash is the field's, whatever it is.
      if (line[at] === "\\" && at + 1 < line.length) field += line[++at];
    }
  }
  return [...fields, field];
}

function matches(field: string | undefined, word: string): boolean {
  return field !== undefined && (field === "*" || plainField(field) === word);
}

/** Returns a field without the backslashes that only stand before another character. */
function plainField(field: string): string {
  return field.replace(/\\(.)/gs, "$1");
}
