/**
 * The files of this user that a shared store needs. Each connection reads a password and certificates. The store's own small
 * files are for this user's eyes alone.
 *
 * Invariants: no password comes from the environment, and none is shown by accident. A password is not read from a file that
 * others may open, and a sentence says so. A private file is replaced as a whole.
 *
 * `store/address.ts` names the servers, `store/node-id.ts` keeps the node's id in such a file.
 */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { inspect } from "node:util";
import { errorText, isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { shellArgument } from "../../protocol/text.ts";
import { refuseStore, type StoreAddress, type StoreRefusal } from "./address.ts";
import type { JournalAddress } from "./connection.ts";

/** The files that may have the password. */
interface SecretPlaces {
  /** Kite's own: the password alone, on one line. */
  readonly storeSecret: string;
  /** `.pgpass` in the user's home directory. */
  readonly passFile: string;
}

export interface SecretSearch {
  readonly ok: true;
  /** The password for each host of the address, in its order; null: none is found, and a server may need none. */
  readonly secrets: readonly (StoreSecret | null)[];
  /** The file that was used; null: none. */
  readonly from: string | null;
  /** A sentence for each file that was left out though it is there. */
  readonly notes: readonly string[];
}

/** What a line of `.pgpass` has to match. */
export interface PassQuery {
  /** A name or an address as the address has it, or the directory of a unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

/** What stands at a path. `unfit`: no file that may be used, and `error` says why and what to do. */
export type FileText =
  | { readonly is: "read"; readonly text: string }
  | { readonly is: "absent" }
  | { readonly is: "unfit"; readonly error: string };

/** The schema of Kite's tables. */
const schema = "kite";

/** Returns the files that may have the password. No variable names them but `HOME` and `KITE_HOME`. */
export function secretPlaces({ storeSecret }: Pick<KitePaths, "storeSecret">): SecretPlaces {
  return { storeSecret, passFile: join(homedir(), ".pgpass") };
}

/**
 * Returns what a journal connects by. A file of certificates that cannot be read now is a refusal. Each connection reads
 * that file anew, and the password's files if its server asks. Both may change while a daemon runs.
 */
export function storeConnection(
  address: StoreAddress,
  paths: Pick<KitePaths, "storeSecret">,
): JournalAddress | StoreRefusal {
  const certificate = readRootCertificate(address);
  if (certificate !== null && typeof certificate === "object") return certificate;
  const { user, database } = address;
  const own = certificate === null ? {} : { readCa: () => readCertificate(address) };
  const hosts = address.hosts.map(({ host, port, hasTls }, index) => {
    const tls = hasTls && ({ minVersion: "TLSv1.2", ...own } as const);
    const password = () => readPassword(address, paths, index);
    return { host, port, tls, password };
  });
  return { user, database, schema, hosts };
}

/**
 * Finds the passwords for an address. `store.secret` counts for every host, since it is of this store alone; if it is there
 * but may not be used, that is a refusal. A `.pgpass` that may not be used is left out with a note, as PostgreSQL does.
 */
export function findSecrets(address: StoreAddress, places: SecretPlaces): SecretSearch | StoreRefusal {
  const { hosts, database, user } = address;
  const own = readPrivateFile(places.storeSecret, limits.storeSecretBytes);
  if (own.is === "unfit") return refuseStore("store_secret", own.error);
  if (own.is === "read") {
    const password = oneLine(own.text);
    if (password === null) return refuseStore("store_secret", otherForm(places.storeSecret));
    const secret = new StoreSecret(password);
    return { ok: true, secrets: hosts.map(() => secret), from: places.storeSecret, notes: [] };
  }
  const shared = readLinkedFile(places.passFile, limits.passFileBytes, true);
  const text = shared.is === "read" ? shared.text : "";
  const secrets = hosts.map(({ host, port }) => {
    const password = passwordIn(text, { host, port, database, user });
    return password === null ? null : new StoreSecret(password);
  });
  return {
    ok: true,
    secrets,
    from: secrets.some(secret => secret !== null) ? places.passFile : null,
    notes: shared.is === "unfit" ? [`${places.passFile} is left out: ${shared.error}`] : [],
  };
}

/**
 * Keeps a password that a person typed in `store.secret`. Refuses what is no password on one line. Throws the system's error
 * if the file cannot be written; the one before stays then.
 */
export function keepSecret({ storeSecret }: SecretPlaces, password: string): StoreRefusal | null {
  const line = oneLine(password);
  if (line === null || Buffer.byteLength(line) >= limits.storeSecretBytes)
    return refuseStore(
      "store_secret",
      "the password is empty, has several lines or control characters, or " +
        `has more than ${limits.storeSecretBytes - 1} bytes; type it again`,
    );
  writePrivateFile(storeSecret, `${line}\n`);
  return null;
}

/** What a log, an error or JSON shows of a password. */
const hidden = "[the store's password]";

/** A password that is shown nowhere by accident: whoever needs it says so by `reveal`. */
export class StoreSecret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Returns the password itself. Give it to the store's client and to nothing else. */
  reveal(): string {
    return this.#value;
  }

  toJSON(): string {
    return hidden;
  }

  toString(): string {
    return hidden;
  }

  [inspect.custom](): string {
    return hidden;
  }
}

/** Directories where servers put their sockets without being told: a line finds them as `localhost`. */
const usualSocketFolders: ReadonlySet<string> = new Set(["/tmp", "/run/postgresql", "/var/run/postgresql"]);

/**
 * Returns the password of the first line of a `.pgpass` that matches, as PostgreSQL's own clients do:
 * `host:port:database:user:password`. A field that is `*` alone matches anything. A backslash stands before a `:` or a
 * backslash that belongs to a field. A line that begins with `#` is a comment. Null: no line matches, or the one that does
 * has no password.
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

/** Returns the text of the file that `sslrootcert` names; null: the address names none. */
export function readRootCertificate({
  rootCertificate: path,
}: Pick<StoreAddress, "rootCertificate">): string | null | StoreRefusal {
  if (path === null) return null;
  const found = readLinkedFile(path, limits.rootCertificateBytes, false);
  if (found.is === "absent")
    return refuseStore(
      "store_certificate",
      `${path} does not exist; correct sslrootcert in the store's address`,
    );
  if (found.is === "unfit") return refuseStore("store_certificate", found.error);
  if (/-----BEGIN (?:TRUSTED )?CERTIFICATE-----/.test(found.text)) return found.text;
  return refuseStore(
    "store_certificate",
    `${path} holds no certificate (-----BEGIN CERTIFICATE-----); name another file`,
  );
}

/** Reads a file of this user that nobody else may open, and no link. It never waits for the other end of a FIFO. */
export function readPrivateFile(path: string, bytesMax: number): FileText {
  return readBounded(path, bytesMax, flags | constants.O_NOFOLLOW, (at, stat) => {
    const uid = process.getuid?.();
    if (uid !== undefined && stat.uid !== uid)
      return `${at} belongs to user ${stat.uid}, not to you (${uid}); remove it, and make one of your own`;
    return openToOthers(at, stat);
  });
}

/** Reads a file, or what a link leads to. `isPrivate`: it may not be open to others. */
export function readLinkedFile(path: string, bytesMax: number, isPrivate: boolean): FileText {
  return readBounded(path, bytesMax, flags, isPrivate ? openToOthers : () => null);
}

/**
 * Replaces a file as a whole (mode 0600). After a crash at any point it is the old one or the new one. The new one is on the
 * disk when this returns. One process at a time may write it. Throws the system's error, and leaves the old file then.
 */
export function writePrivateFile(path: string, text: string): void {
  replace(path, text, { flush: true });
  const folder = openSync(dirname(path), constants.O_RDONLY);
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** The same, but it does not wait for the disk: after a power cut the file may be the old one, or damaged. */
export function writePrivateFileUnsynced(path: string, text: string): void {
  replace(path, text, { flush: false });
}

/** Throws an error that says what is wrong with the file. */
function readCertificate(address: StoreAddress): string {
  const found = readRootCertificate(address);
  if (typeof found === "string") return found;
  throw new Error(found?.error);
}

/** Throws an error that says what is wrong with a file. */
function readPassword(
  address: StoreAddress,
  paths: Pick<KitePaths, "storeSecret">,
  index: number,
): string | null {
  const found = findSecrets(address, secretPlaces(paths));
  if (!found.ok) throw new Error(found.error);
  const secret = found.secrets[index] ?? null;
  if (secret === null && found.notes.length > 0) throw new Error(found.notes.join("; "));
  return secret?.reveal() ?? null;
}

/** Returns the one line of a text; null: it has another form. */
function oneLine(text: string): string | null {
  const line = text.replace(/\r?\n$/, "");
  return line === "" || /\p{Cc}/u.test(line) ? null : line;
}

function otherForm(path: string): string {
  return `${path} has to hold the store's password alone, on one line without control characters; write it anew (mode 0600)`;
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

/** Returns why a file may not be used, or null. */
type Objection = (path: string, stat: Stats) => string | null;

const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

const openToOthers: Objection = (path, { mode }) => {
  if ((mode & 0o077) === 0) return null;
  const shown = (mode & 0o777).toString(8).padStart(4, "0");
  return `${path} is open to other users (mode ${shown}); run: chmod 600 ${shellArgument(path)}`;
};

function readBounded(path: string, bytesMax: number, how: number, objection: Objection): FileText {
  let fd: number;
  try {
    fd = openSync(path, how);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return error.code === "ENOENT" ? { is: "absent" } : { is: "unfit", error: errorText(error) };
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) return { is: "unfit", error: `${path} is no file; move it away` };
    const unfit = objection(path, stat);
    if (unfit !== null) return { is: "unfit", error: unfit };
    const buffer = Buffer.alloc(bytesMax + 1);
    let size = 0;
    for (let read = -1; read !== 0 && size < buffer.length; size += read)
      read = readSync(fd, buffer, size, buffer.length - size, size);
    if (size > bytesMax)
      return {
        is: "unfit",
        error: `${path} has more than ${bytesMax} bytes; see what is in it, and shorten it`,
      };
    return { is: "read", text: new TextDecoder("utf-8", { fatal: true }).decode(buffer.subarray(0, size)) };
  } catch (error) {
    if (error instanceof TypeError)
      return { is: "unfit", error: `${path} is no text in UTF-8; write it anew` };
    if (!isSystemError(error)) throw error;
    return { is: "unfit", error: errorText(error) };
  } finally {
    closeSync(fd);
  }
}

function replace(path: string, text: string, { flush }: { readonly flush: boolean }): void {
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  try {
    writeFileSync(temporary, text, { mode: 0o600, flag: "wx", flush });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
