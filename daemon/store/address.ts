/**
 * The address of a shared store: `postgresql://USER@HOST:PORT/DATABASE`, with several hosts between commas. A host may be
 * the directory of a unix socket, as `%2Frun%2Fpostgresql` or `?host=/run/postgresql`.
 *
 * Invariants: what this file returns has no password, and no refusal repeats a part of an address, but for the name of a
 * parameter. A connection that leaves the machine has TLS, with the server's certificate and name checked (`verify-full`).
 *
 * The password and the certificates are in files of the user: `store/private-files.ts` reads them.
 */
import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";
import { type Code, type Refusal, refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import { nearest, quote } from "../../protocol/text.ts";

/** One of the store's servers. */
export interface StoreHost {
  /** A name or an address, in lower case, without brackets; or the directory of a unix socket, which begins with `/`. */
  readonly host: string;
  readonly port: number;
  /** Whether the connection has TLS, with the server's certificate and name checked. */
  readonly hasTls: boolean;
}

export interface StoreAddress {
  /** In the order in which they are tried; at most `limits.storeHostsMax`. */
  readonly hosts: readonly StoreHost[];
  readonly user: string;
  readonly database: string;
  /** Absolute path of the certificates that sign the servers'; null: those that the system trusts. */
  readonly rootCertificate: string | null;
  /** The address in one spelling, for settings and for people; to read it gives the same address. */
  readonly text: string;
}

export type StoreCode = Extract<
  Code,
  "store_address" | "store_password" | "store_tls" | "store_secret" | "store_certificate" | "store_node"
>;

/**
 * Why a shared store cannot be reached or named. A sentence never repeats what may be a password, nor an address that may
 * hold one.
 */
export interface StoreRefusal extends Refusal {
  readonly code: StoreCode;
}

const form = "postgresql://USER@HOST:PORT/DATABASE";
const usualPort = 5432;

/** Reads an address; a refusal says what is wrong with it. */
export function readStoreAddress(text: string): StoreAddress | StoreRefusal {
  const bytes = Buffer.byteLength(text);
  if (bytes > limits.storeAddressBytes)
    return badAddress(`has ${bytes} bytes; at most ${limits.storeAddressBytes} are possible`);
  const rest = /^postgres(?:ql)?:\/\/(.*)$/is.exec(text)?.[1];
  if (rest === undefined) return badAddress(`begins with no postgresql://; write it as ${form}`);
  // A password may hold any character, so it is looked for before anything is taken apart.
  if (rest.slice(0, Math.max(0, rest.lastIndexOf("@"))).includes(":")) return withPassword();
  if (!/^[!-~]*$/.test(rest))
    return badAddress("has a blank, a line break or a letter beyond ASCII; write each byte of it as %XX");
  if (rest.includes("#")) return badAddress("has a #, which begins nothing in it; write it as %23");
  const [, authority = "", path = "", query = ""] = /^([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/.exec(rest) ?? [];
  const parameters = readParameters(query);
  if ("ok" in parameters) return parameters;
  const at = authority.lastIndexOf("@");
  const user = nameIn(authority.slice(0, Math.max(0, at)));
  if (user === null) return badName("user");
  const hosts = readHosts(authority.slice(at + 1), parameters);
  if ("ok" in hosts) return hosts;
  const database = nameIn(path);
  if (database === null) return badName("database");
  const parts = { hosts, user, database, rootCertificate: parameters.rootCertificate };
  return { ...parts, text: textOf(parts) };
}

/** Returns a refusal; `error` says what happened, to what, and what to do next. */
export function refuseStore(code: StoreCode, error: string): StoreRefusal {
  return { ...refuse(code, error), code };
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/**
 * Whether a host, in lower case and without brackets, is the machine that names it: `localhost`, 127.0.0.0/8 or ::1. An
 * address in another notation counts as another host: then it is treated with more care, never with less.
 */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host === "localhost";
  return loopback.check(host, family === 4 ? "ipv4" : "ipv6");
}

function readHosts(list: string, parameters: StoreParameters): StoreHost[] | StoreRefusal {
  const { socketFolder, port: socketPort, tls } = parameters;
  if (list !== "" && (socketFolder !== null || socketPort !== null))
    return badAddress("names hosts both before the database and in its parameters; name them once");
  const words = list === "" ? [] : list.split(",");
  if (socketFolder !== null) words.push(`${encodeURIComponent(socketFolder)}:${socketPort ?? usualPort}`);
  if (words.length === 0) return badAddress(`names no host; write it as ${form}`);
  if (words.length > limits.storeHostsMax)
    return badAddress(`names ${words.length} hosts; at most ${limits.storeHostsMax} are possible`);
  const hosts: StoreHost[] = [];
  for (const word of words) {
    const [, name = "", digits] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(word) ?? [];
    const host = hostIn(name);
    if (host === null)
      return badAddress(
        "has a host that is no name, no address and no absolute path; an IPv6 address stands between [ and ]",
      );
    const port = digits === undefined ? usualPort : portIn(digits);
    if (port === null) return badAddress("has a port that is no number from 1 to 65535");
    const isSocket = host.startsWith("/");
    const isHere = isSocket || isLoopback(host);
    if (!isHere && tls === "off") return unencrypted();
    hosts.push({ host, port, hasTls: !isSocket && (!isHere || tls === "on") });
  }
  return hosts;
}

function textOf({ hosts, user, database, rootCertificate }: Omit<StoreAddress, "text">): string {
  const places = hosts.map(({ host, port }) => {
    const shown = host.startsWith("/") ? encodeURIComponent(host) : isIPv6(host) ? `[${host}]` : host;
    return port === usualPort ? shown : `${shown}:${port}`;
  });
  // A connection to another machine always uses TLS. A connection to this one uses it only if the address asks for it.
  const asks = hosts.some(({ host, hasTls }) => hasTls && isLoopback(host));
  const parameters = [
    ...(asks ? ["sslmode=verify-full"] : []),
    ...(rootCertificate === null ? [] : [`sslrootcert=${encodeURIComponent(rootCertificate)}`]),
  ];
  const query = parameters.length === 0 ? "" : `?${parameters.join("&")}`;
  return `postgresql://${encodeURIComponent(user)}@${places.join(",")}/${encodeURIComponent(database)}${query}`;
}

function badName(of: "user" | "database"): StoreRefusal {
  const rule = `a name has 1 to ${limits.storeNameBytes} bytes; / and other signs are written as %XX`;
  return badAddress(`names no ${of} (${rule}); write it as ${form}`);
}

function unencrypted(): StoreRefusal {
  return refuseStore(
    "store_tls",
    "the store's address asks for a connection to another machine that may be without TLS; take sslmode out of it, or set " +
      "it to verify-full (with sslrootcert=PATH for certificates of your own)",
  );
}

// The parameters: those that Kite knows, each at most once, and no other.

interface StoreParameters {
  /** The directory of a unix socket; null: the address names its hosts before the database. */
  readonly socketFolder: string | null;
  /** The port of that socket; null: the usual one. */
  readonly port: number | null;
  /** What the address says of TLS; null: nothing. */
  readonly tls: "on" | "off" | null;
  /** Absolute path of the certificates that sign the servers'; null: those that the system trusts. */
  readonly rootCertificate: string | null;
}

const known = ["sslmode", "sslrootcert", "host", "port"] as const;
type Name = (typeof known)[number];

/** Parameters in which programs put a password. */
const secrets: ReadonlySet<string> = new Set(["password", "passwd", "pass", "sslpassword"]);

/** `require` and `verify-ca` ask for less than `verify-full`, and get it. */
const modes: Readonly<Record<string, "on" | "off">> = {
  disable: "off",
  allow: "off",
  prefer: "off",
  require: "on",
  "verify-ca": "on",
  "verify-full": "on",
};

/** Reads what comes after the `?` of an address, undecoded; empty: nothing. */
function readParameters(query: string): StoreParameters | StoreRefusal {
  const values = new Map<Name, string>();
  for (const word of query === "" ? [] : query.split("&")) {
    const split = word.indexOf("=");
    // A word without a name may be anything, so it is not repeated.
    if (split < 1) return badAddress("has a parameter without a name or a value; write it as NAME=VALUE");
    const name = decoded(word.slice(0, split)) ?? "";
    if (secrets.has(name.toLowerCase())) return withPassword();
    if (!isKnown(name)) return unknownParameter(name);
    if (values.has(name)) return badAddress(`has the parameter ${name} twice; write it once`);
    const value = decoded(word.slice(split + 1));
    if (value === null) return badAddress(`has a % in ${name} that no two digits follow; write it as %25`);
    values.set(name, value);
  }
  return meaningOf(values);
}

function meaningOf(values: ReadonlyMap<Name, string>): StoreParameters | StoreRefusal {
  const [mode, certificate] = [values.get("sslmode"), values.get("sslrootcert")];
  const tlsMode = mode === undefined ? null : Object.hasOwn(modes, mode) ? modes[mode] : undefined;
  if (tlsMode === undefined)
    return badAddress(`has an unknown sslmode; known are ${Object.keys(modes).join(", ")}`);
  if (tlsMode === "off" && certificate !== undefined)
    return badAddress("has sslrootcert and an sslmode that does without TLS; take one of them out");
  const isSystem = certificate === undefined || certificate === "system";
  const rootCertificate = isSystem ? null : folderIn(certificate, limits.pathBytes);
  if (!isSystem && rootCertificate === null)
    return badAddress("has an sslrootcert that is no absolute path; write the whole path, or system");
  const [folder, digits] = [values.get("host"), values.get("port")];
  const socketFolder = folder === undefined ? null : folderIn(folder, limits.pathBytes);
  if (folder !== undefined && socketFolder === null)
    return badAddress(
      "has a parameter host that is no directory of a unix socket; write other hosts before the database",
    );
  const port = digits === undefined ? null : portIn(digits);
  if (digits !== undefined && port === null)
    return badAddress("has a port that is no number from 1 to 65535");
  const tls = certificate === undefined ? tlsMode : "on";
  return { socketFolder, port, tls, rootCertificate };
}

function isKnown(name: string): name is Name {
  return (known as readonly string[]).includes(name);
}

function unknownParameter(name: string): StoreRefusal {
  const meant = nearest(name, known);
  const hint = meant === null ? `take it out; known are ${known.join(", ")}` : `did you mean ${meant}?`;
  return badAddress(`has the parameter ${quote(name)}, which Kite does not know; ${hint}`);
}

// The parts. Each function returns null for a part that is none; the caller says so without repeating it.

/** After the directory follow `/.s.PGSQL.` and the port. */
const socketFolderBytes = limits.socketPathBytes - "/.s.PGSQL.65535".length;

/** Returns the text that percent signs stand for. */
function decoded(word: string): string | null {
  try {
    return decodeURIComponent(word);
  } catch {
    return null; // The caller says what is wrong with it.
  }
}

/** Returns a host in its one spelling: an absolute path as it is, a name or an address in lower case and without brackets. */
function hostIn(word: string): string | null {
  const text = decoded(word) ?? "";
  if (text.startsWith("/")) return folderIn(text, socketFolderBytes);
  const name = text.toLowerCase();
  const inBrackets = /^\[([0-9a-f:.]+)\]$/.exec(name)?.[1];
  if (inBrackets !== undefined)
    return isIPv6(inBrackets) ? new URL(`http://[${inBrackets}]`).hostname.slice(1, -1) : null;
  if (name.length > limits.hostChars) return null;
  return isIPv4(name) || /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/.test(name) ? name : null;
}

/** Returns an absolute path without a slash at its end. */
function folderIn(path: string, bytesMax: number): string | null {
  if (!path.startsWith("/") || hasControls(path) || Buffer.byteLength(path) > bytesMax) return null;
  return path.replace(/(?<=.)\/+$/, "");
}

/** Returns a port from 1 to 65535. */
function portIn(digits: string): number | null {
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : 0;
  return port >= 1 && port <= 65_535 ? port : null;
}

/** Returns the name of a user or a database. */
function nameIn(word: string): string | null {
  const name = word.includes("/") ? null : decoded(word);
  if (name === null || name === "" || hasControls(name)) return null;
  return Buffer.byteLength(name) <= limits.storeNameBytes ? name : null;
}

function hasControls(text: string): boolean {
  return /\p{Cc}/u.test(text);
}

/** Says what is wrong with an address. */
function badAddress(what: string): StoreRefusal {
  return refuseStore("store_address", `the store's address ${what}`);
}

/** Says where a password goes. */
function withPassword(): StoreRefusal {
  return refuseStore(
    "store_password",
    "the store's address has a password (a : before an @, or a parameter); take it out, so that no list of processes and " +
      "no log shows it, and put it into ~/.pgpass or, alone, into store.secret in Kite's directory (mode 0600); " +
      "write an @ that ends no user as %40",
  );
}
