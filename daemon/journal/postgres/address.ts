/** Where a store is, and who this node is there. All of it is given: the environment's PG... variables do not count. */

/** One of the store's servers. */
export interface JournalHost {
  /** A name or an address, or the directory of a unix socket, which begins with `/`. */
  readonly host: string;
  readonly port: number;
  /**
   * False: no TLS, for a server on this machine. Else the server's certificate and name are checked. Each connection calls
   * `readCa`, which returns the certificates that count in place of the system's. If they cannot be read, its error says
   * why.
   */
  readonly tls: false | { readonly minVersion?: "TLSv1.2"; readonly readCa?: () => string };
  /**
   * Called for each connection whose server asks for a password, which is kept nowhere else; null: there is none. What it
   * throws says why none can be read, and what to do.
   */
  readonly password: () => string | null;
}

export interface JournalAddress {
  /** The servers of one store, the first one first; that which takes writes is used. */
  readonly hosts: readonly JournalHost[];
  readonly database: string;
  readonly user: string;
  /** The schema of Kite's tables: small letters, digits and `_`. */
  readonly schema: string;
}

/** Returns how people name the store; the password is no part of it. */
export function storeName({ hosts, database, user }: JournalAddress): string {
  return `${user}@${hosts.map(({ host, port }) => `${host}:${port}`).join(",")}/${database}`;
}
