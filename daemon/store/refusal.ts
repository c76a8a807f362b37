/**
 * Why a shared store cannot be reached or named. A sentence never repeats what may be a password, nor an address that may
 * hold one.
 */
import { type Code, type Refusal, refuse } from "../../protocol/codes.ts";

export type StoreCode = Extract<
  Code,
  "store_address" | "store_password" | "store_tls" | "store_secret" | "store_certificate" | "store_node"
>;

export interface StoreRefusal extends Refusal {
  readonly code: StoreCode;
}

/** Returns a refusal; `error` says what happened, to what, and what to do next. */
export function refuseStore(code: StoreCode, error: string): StoreRefusal {
  return { ...refuse(code, error), code };
}
