/**
 * Why a shared store cannot be reached or named, in the form of the wire's refusals. A sentence never repeats what may be a
 * password, nor an address that may hold one.
 */

/** Every code, with when it is used. */
export const storeCodes = {
  store_address: "the store's address names no PostgreSQL database that Kite can use",
  store_password: "the store's address has a password, which belongs into a file",
  store_tls:
    "the store's address lets the connection go over a network without TLS, or with a server that nobody checked",
  store_secret: "the file with the store's password is not private, or has another form",
  store_certificate: "the file with the store's root certificate cannot be read, or holds none",
  store_node: "the file with this node's id is damaged, not private, or cannot be read",
} as const;

export type StoreCode = keyof typeof storeCodes;

export interface StoreRefusal {
  readonly ok: false;
  readonly code: StoreCode;
  /** What happened, to what, and what to do next. */
  readonly error: string;
}

/** Returns a refusal; `error` says what happened, to what, and what to do next. */
export function refuseStore(code: StoreCode, error: string): StoreRefusal {
  return { ok: false, code, error };
}
