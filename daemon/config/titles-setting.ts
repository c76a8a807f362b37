/** The setting `titles`: what a person's screen says of what a session is about. Only the user's own file may have it. */
import { oneOf, type SettingTable, setting } from "./setting.ts";

export const titleSettings = {
  /** `prompt`: words of the latest prompt in place of the client's title. */
  titles: setting<"client" | "prompt" | "off">({
    says: "what your own screen shows a session to be about: its client's title, its latest prompt, or off for nothing",
    schema: oneOf(["client", "prompt", "off"]),
    initial: "client",
    variable: "KITE_TITLES",
  }),
} satisfies SettingTable;
