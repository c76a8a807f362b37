/** The setting of the shared store. It is the user's alone: no variable and no project's file has it. */
import * as z from "zod";
import { readStoreAddress } from "../store/address.ts";
import { setting } from "./setting.ts";

/** Returns what is wrong with an address, or null. */
function problemOf(text: string): string | null {
  const found = text === "" ? null : readStoreAddress(text);
  return found !== null && "ok" in found ? found.error : null;
}

export const storeSettings = {
  /** Address of the store that several machines share; "": there is none. Never with a password in it. */
  store: setting<string>({
    says: "address of a PostgreSQL that several machines share; kite store join sets it",
    schema: z
      .string({ error: "expected an address as a text, such as postgresql://kite@db.example/kite" })
      .refine(text => problemOf(text) === null, { error: ({ input }) => problemOf(String(input)) ?? "" }),
    initial: "",
    fixed: true,
    variable: null,
    elsewhere: "a store is set for all your projects: kite store join writes it into your own config.json",
  }),
};
