# Check the owner of a user's folder in a shared place.

# is_own_part FOLDER: succeed if this user owns a folder in a shared place. The folder may be a link
# that the user or root has made.
is_own_part() {
  local owner user
  [[ -O $1 ]] || return
  [[ -L $1 ]] || return 0
  owner=$(stat -c %u -- "$1") || return
  user=$(id -u) || return
  [[ $owner == 0 || $owner == "$user" ]]
}
