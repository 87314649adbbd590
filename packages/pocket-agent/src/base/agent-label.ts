// What texts for people call an agent.

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Its name; an agent without one has a UUID, which nobody recognises. */
export function agentLabel({ name }: { readonly name: string }): string {
  return UUID.test(name) ? 'an agent without a name' : name;
}
