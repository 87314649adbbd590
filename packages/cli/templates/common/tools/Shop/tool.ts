// The code of the tools in manifest.yaml: one method tool_<name> for each.

export class Tools {
  tool_opening_hours({ day }: { day: string }): string {
    if (day === 'sunday') return 'closed';
    return day === 'saturday' ? '10:00 to 16:00' : '9:00 to 18:00';
  }
}
