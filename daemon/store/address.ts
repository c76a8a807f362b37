/**
 * Reads the address of a shared store: `postgresql://USER@HOST:PORT/DATABASE`, with several hosts between commas. A host may
 * be the directory of a unix socket, as `%2Frun%2Fpostgresql` or `?host=/run/postgresql`.
 *
 * Invariants: what this file returns has no password, and no refusal repeats a part of an address, but for the name of a
 * parameter. A connection that leaves the machine has TLS, with the server's certificate and name checked (`verify-full`).
 */
import { isIPv6 } from "node:net";
import { limits } from "../../protocol/limits.ts";
import { badAddress, hostIn, nameIn, portIn, withPassword } from "./address-parts.ts";
import { isLoopback } from "./loopback.ts";
import { readParameters, type StoreParameters } from "./parameters.ts";
import { refuseStore, type StoreRefusal } from "./refusal.ts";

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
