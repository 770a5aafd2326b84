/** GET is a backup of the whole store, which takes as long as its reader. */
export const backupPath = '/kubelevel/backup'
