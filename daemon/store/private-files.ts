/**
 * The files of this user that a shared store needs. Each connection reads a password and certificates. The store's own small
 * files are for this user's eyes alone: one of them says who this home is in the store.
 *
 * Invariants: no password comes from the environment, and none is shown by accident. A password is not read from a file that
 * others may open, and a sentence says so. A private file is replaced as a whole: after a crash it is the old one or the new one.
 * A node's id is on the disk before it is used. Its file has only hashes of what it is bound to, each with the id in it: nothing
 * of the machine can be read from it. The machine's id never leaves the machine; its name is for people.
 *
 * `store/address.ts` names the servers.
 */
import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { isIP } from "node:net";
import { homedir, hostname } from "node:os";
import { dirname, join } from "node:path";
import { inspect } from "node:util";
import * as z from "zod";
import { errorText, isSystemError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { plain, shellArgument } from "../../protocol/text.ts";
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
export const schema = "kite";

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

// Who this home is in a shared store: its node's id, and the machine's own id and name. A node's id is random, made once, and bound
// to the machine and to the home's place. So a home that was copied to another machine or path is found out, and two nodes never
// speak under one id.

type Places = Pick<KitePaths, "home" | "storeNode">;

/** What an id is bound to; the order is that of a sentence about it. */
const bonds = ["machine", "path", "inode"] as const;
export type NodeBond = (typeof bonds)[number];

export type NodeState =
  /** The id is this home's. */
  | { readonly is: "own"; readonly node: string }
  /** The home has no id yet. */
  | { readonly is: "absent" }
  /** The id is another home's, of which this one is a copy; `error` says so, and what to do. */
  | {
      readonly is: "copied";
      readonly node: string;
      readonly differs: readonly NodeBond[];
      readonly error: string;
    };

const hash = z.string().regex(/^[0-9a-f]{64}$/);
const nodeFile = z.strictObject({
  version: z.literal(1),
  node: z.string().regex(/^[0-9a-f]{32}$/),
  machine: hash,
  path: hash,
  inode: hash,
});
type NodeFile = z.infer<typeof nodeFile>;

/** Returns whose id the home has. `machine` tells this machine from others. */
export function readNode(
  { home, storeNode }: Places,
  machine: string = machineId(),
): NodeState | StoreRefusal {
  const found = readPrivateFile(storeNode, limits.smallFileBytes);
  if (found.is === "absent") return { is: "absent" };
  if (found.is === "unfit") return refuseStore("store_node", found.error);
  const file = parseNodeFile(found.text);
  if (file === null)
    return refuseStore(
      "store_node",
      `${storeNode} is damaged, or a newer Kite wrote it; put back a copy, or make a new id: kite store rejoin`,
    );
  try {
    const here = bondsOf(home, machine, file.node);
    const differs = bonds.filter(bond => file[bond] !== here[bond]);
    if (differs.length === 0) return { is: "own", node: file.node };
    return { is: "copied", node: file.node, differs, error: copyText(home, differs) };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return refuseStore("store_node", errorText(error));
  }
}

/** Returns the home's id, and makes one if it has none. Only for the holder of the daemon's lock. */
export function openNode(places: Places, machine: string = machineId()): NodeState | StoreRefusal {
  const found = readNode(places, machine);
  return "is" in found && found.is === "absent" ? renewNode(places, machine) : found;
}

/**
 * Gives the home a new id, whatever it had: for a copy, or a file that is damaged. Only for the holder of the daemon's lock,
 * and at a person's word: the store knows the home as another node from then on.
 */
export function renewNode(
  { home, storeNode }: Places,
  machine: string = machineId(),
): Extract<NodeState, { is: "own" }> | StoreRefusal {
  const node = randomBytes(16).toString("hex");
  try {
    const file: NodeFile = { version: 1, node, ...bondsOf(home, machine, node) };
    writePrivateFile(storeNode, `${JSON.stringify(file)}\n`);
    return { is: "own", node };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return refuseStore("store_node", `the id of this node cannot be kept: ${errorText(error)}`);
  }
}

/** Files of systemd and of D-Bus; a machine has the same id in both. */
const idFiles: readonly string[] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/**
 * Returns what tells this machine from others: its id, if the system keeps one in a file. Else returns its name without the
 * domain, which may change from network to network.
 */
export function machineId(files: readonly string[] = idFiles, host: string = hostname()): string {
  for (const file of files) {
    const found = readLinkedFile(file, limits.machineIdBytes, false);
    // A file that is missing, or that no boot has filled yet, has no id; the next one may.
    const id = found.is === "read" ? found.text.trim().toLowerCase() : "";
    if (/^[0-9a-f]{32}$/.test(id) && !/^0+$/.test(id)) return `id ${id}`;
  }
  return `name ${firstLabel(host).toLowerCase()}`;
}

/** Returns what tells this start of the machine from others, also of a copy of its disk; empty where the system does not say. */
export function bootId(file = "/proc/sys/kernel/random/boot_id"): string {
  const found = readLinkedFile(file, limits.machineIdBytes, false);
  return found.is === "read" ? found.text.trim() : "";
}

/** Returns the machine's name for people, as behind the @ in `alice@laptop`: one word of at most `limits.machineNameChars`. */
export function machineName(host: string = hostname()): string {
  const word = plain(firstLabel(host)).replace(/[\s@]+/g, "-");
  return plain(word, limits.machineNameChars) || "machine";
}

function bondsOf(home: string, machine: string, node: string): Record<NodeBond, string> {
  const path = realpathSync.native(home);
  const inode = statSync(path, { bigint: true }).ino;
  return {
    machine: hashOf(node, "machine", machine),
    path: hashOf(node, "path", path),
    inode: hashOf(node, "inode", String(inode)),
  };
}

function hashOf(...parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

function parseNodeFile(text: string): NodeFile | null {
  try {
    return nodeFile.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null; // No JSON: the caller says that the file is damaged.
  }
}

function copyText(home: string, differs: readonly NodeBond[]): string {
  const what = differs.includes("machine")
    ? "its id was made on another machine, or the machine has a new id"
    : differs.includes("path")
      ? "its id was made for a home at another path"
      : "its id was made for another folder at this path";
  return `${home} is a copy: ${what}; give this one an id of its own: kite store rejoin`;
}

/** Returns a host's name without its domain; an address as it is. */
function firstLabel(host: string): string {
  return isIP(host) === 0 ? (host.split(".").find(label => label !== "") ?? "") : host;
}
