// Capabilities of tools, and the profiles that allow them. Each profile includes everything the previous one allows.

export const capabilities = ['read', 'write', 'create', 'delete'] as const;
/** What a tool does in Mattermost. A profile allows some capabilities. */
export type Capability = (typeof capabilities)[number];

export const profiles = ['reader', 'writer', 'manager', 'admin'] as const;
/** How much a client may do, from reading only to everything. */
export type Profile = (typeof profiles)[number];

export function isProfile(value: unknown): value is Profile {
  return profiles.some((profile) => profile === value);
}

/** Whether tools with this capability may be called under the profile. */
export function allows(profile: Profile, capability: Capability): boolean {
  return capabilities.indexOf(capability) <= profiles.indexOf(profile);
}

/** Returns the profile that allows less. */
export function narrower(one: Profile, other: Profile): Profile {
  return profiles.indexOf(one) < profiles.indexOf(other) ? one : other;
}
