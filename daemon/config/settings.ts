/** The list of the features' settings, in the order in which people see them, and of the sections of a project's file. */
import { checkSections } from "../lead/checks/setting.ts";
import { gateSettings } from "../lead/gates/setting.ts";
import { healthSettings } from "../lead/health/setting.ts";
import { spawnSettings } from "../lead/spawns/setting.ts";
import { teamSettings } from "../lead/teams/setting.ts";
import { rescueSettings } from "../rescue/setting.ts";
import { ignoreSettings, lockSettings, modeSettings } from "./base-settings.ts";
import { notifySettings } from "./notify-setting.ts";
import { nameSections } from "./project-section.ts";
import { storeSettings } from "./store-setting.ts";
import { titleSettings } from "./titles-setting.ts";

export const settings = {
  ...modeSettings,
  ...lockSettings,
  ...gateSettings,
  ...spawnSettings,
  ...teamSettings,
  ...healthSettings,
  ...notifySettings,
  ...titleSettings,
  ...ignoreSettings,
  ...rescueSettings,
  ...storeSettings,
};

export const sections = { ...checkSections, ...nameSections };
